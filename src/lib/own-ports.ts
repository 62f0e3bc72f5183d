/**
 * The TCP ports on which this program listens, in this process and in its children. No user may have the server connect
 * to them. The place that binds a port adds it here: `listenOn` for a listener of this process, the starter of a child
 * for the ports that the child is going to bind.
 */
export type OwnPort = {
  readonly port: number;
  readonly isOpen: () => boolean;
  /** The only address at which it can be reached, and a secret. Default: `port` is taken at every address. */
  readonly secretHost?: string;
  /** `engines`: a listener that one engine is permitted to read. Default: `clients`. */
  readonly serves?: "clients" | "engines";
};

const known = new Set<OwnPort>();

export function addOwnPort(own: OwnPort): void {
  known.add(own);
}

/** The ones that are open now, those for engines included unless `serves` says otherwise. */
export function ownPorts(serves?: OwnPort["serves"]): readonly OwnPort[] {
  for (const own of known) if (!own.isOpen()) known.delete(own);
  return [...known].filter((own) => serves === undefined || (own.serves ?? "clients") === serves);
}
