/**
 * What services of each runtime have and can do, as plain data. Whoever treats them differently asks for a trait, not
 * for the name of a runtime. `src/services/runtimes/` has what runs them.
 */
export type RuntimeTraits = {
  /** In sentences. */
  readonly label: string;
  /** The engine is a process of this program, of the packaged version, and only this machine can reach it. */
  readonly isOwnProcess: boolean;
  /** The record of the service says how its server is reached. */
  readonly hasConnection: boolean;
  /** Memory, disk and idling of the service are set here. */
  readonly hasSizes: boolean;
  /** It runs as pods that a cluster judges and an operator makes: with several replicas, and slow to start. */
  readonly isInCluster: boolean;
  /** The server writes and reads backups itself: whole ones, which are not restored elsewhere for a trial. */
  readonly makesOwnBackups: boolean;
  /** A new service can begin with the contents of a backup. */
  readonly canBeFilled: boolean;
  /** A stopped service can be read for a moment, for a backup. */
  readonly canBeReadStopped: boolean;
  /** The server continues when the service is stopped. */
  readonly outlivesStop: boolean;
  /** Why the service cannot be moved to another server. */
  readonly moveRefusal?: string;
};

export const runtimeTraits = {
  embedded: {
    label: "an embedded service",
    isOwnProcess: true,
    hasConnection: false,
    hasSizes: true,
    isInCluster: false,
    makesOwnBackups: false,
    canBeFilled: true,
    canBeReadStopped: true,
    outlivesStop: false,
  },
  external: {
    label: "an external service",
    isOwnProcess: false,
    hasConnection: true,
    hasSizes: false,
    isInCluster: false,
    makesOwnBackups: true,
    canBeFilled: false,
    canBeReadStopped: true,
    outlivesStop: true,
    moveRefusal: "The service is external already; change its connection instead.",
  },
  kubernetes: {
    label: "a service in Kubernetes",
    isOwnProcess: false,
    hasConnection: false,
    hasSizes: true,
    isInCluster: true,
    makesOwnBackups: true,
    canBeFilled: false,
    canBeReadStopped: false,
    outlivesStop: false,
    moveRefusal: "A service in Kubernetes cannot be moved; only embedded services can.",
  },
} as const satisfies Record<string, RuntimeTraits>;

export type RuntimeKind = keyof typeof runtimeTraits;

/** The runtime of a service whose request names none. */
export const defaultRuntime: RuntimeKind = "embedded";

export function traitsOf({ runtime }: { readonly runtime: RuntimeKind }): RuntimeTraits {
  return runtimeTraits[runtime];
}
