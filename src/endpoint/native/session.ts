/** Limits names and values together: a session passes between processes, which hold it for connections that rest. */
export const maxSessionCharacters = 65_536;

/**
 * The session of a client that has logged in. It is plain data, because the engine keeps no sessions: it moves with its
 * connection between gateway and engine hosts.
 */
export type NativeSession = {
  readonly user: string;
  /** What the client logged in with: a session ends when the password changes. */
  readonly passwordSha256Hex: string;
  /** The smaller one of both sides. */
  readonly revision: number;
  /** Empty: the default one. */
  readonly database: string;
  /** What SET has changed. */
  readonly settings: readonly (readonly [name: string, value: string])[];
  /** What `SET param_name` has set. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
};
