/** What the gateway needs from the rest of the house: the services, and the way to a running engine. */

export type GatewayUser = {
  readonly name: string;
  /** SHA-256 of the password, lower-case hex. An empty password is the hash of the empty string. */
  readonly passwordSha256Hex: string;
  readonly readonly: boolean;
};

export type GatewayService = {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  /** 0 picks a free one; see `Gateway.portOf`. */
  readonly port: number;
  /** Nobody may connect while it is empty; `0.0.0.0/0` and `::/0` let everybody in. */
  readonly ipAccessList: readonly { readonly source: string; readonly description: string }[];
  readonly users: readonly GatewayUser[];
};

export type EngineLease = {
  readonly socketPath: string;
  /** Must be called exactly once, when the query is over. */
  release(): void;
};

export type GatewayBackend = {
  /**
   * Resolves with the running engine's socket, waking an idle service and waiting for it. Throws AppError:
   * SERVICE_UNAVAILABLE when stopped or failed, TIMEOUT. Every lease counts as activity until it is released.
   */
  acquire(serviceId: string, signal: AbortSignal): Promise<EngineLease>;
};
