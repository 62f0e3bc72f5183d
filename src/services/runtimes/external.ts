/**
 * The runtime of external services: their server exists without us. `start` connects, `stop` forgets the connection,
 * and nothing of it reaches the server. A server that does not answer is looked for until it does.
 */
import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import type { ConnectionPasswords } from "../../store/services/service-connections.ts";
import type { Service } from "../../store/services/services.ts";
import { addressesOf, type ExternalAddress } from "../external/addresses.ts";
import { connectEngine, type Found, firstThatAnswers } from "../external/engine.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";

export type ExternalOptions = {
  readonly passwords: ConnectionPasswords;
  readonly policy: OutgoingPolicy;
  readonly logger: Logger;
};

export class ExternalRuntime implements ServiceRuntime {
  readonly #options: ExternalOptions;

  constructor(options: ExternalOptions) {
    this.#options = options;
  }

  /** Connects to the first host that answers. Rejects with a sentence that names every host's trouble. */
  async start(service: Service): Promise<RunningEngine> {
    const { connection, connectionPassword } = service;
    return await connectEngine(addressesOfServer(service, this.#options), {
      isCurrent: async (now) =>
        now.connectionPassword === connectionPassword && isDeepStrictEqual(now.connection, connection),
      logger: this.#options.logger,
    });
  }

  /** The server keeps everything. */
  async remove(): Promise<void> {}
}

/**
 * The first URL whose server answers, with the others. Throws CONNECTION_UNREACHABLE with a sentence that names every
 * host's trouble.
 */
export async function addressOfServer(service: Service, options: Reached): Promise<Found> {
  return await firstThatAnswers(addressesOfServer(service, options));
}

type Reached = Pick<ExternalOptions, "passwords" | "policy">;

function addressesOfServer({ connection, ...service }: Service, { passwords, policy }: Reached): ExternalAddress[] {
  if (connection === null) throw new AppError("CONNECTION_INVALID", "The service has no connection.");
  return addressesOf(connection, passwords.open(service), policy);
}
