/**
 * The runtime of external services: their server exists without us. `start` connects, `stop` forgets the connection,
 * and nothing of it reaches the server. A server that does not answer is looked for until it does.
 */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { ClickHouseClient } from "../../clickhouse/client.ts";
import { listenForGateway } from "../../endpoint/handoff/gateway-listener.ts";
import { sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import type { ConnectionPasswords } from "../../store/service-connections.ts";
import type { Service } from "../../store/services.ts";
import { addressesOf, type ExternalAddress, readerOf, urlOf, withOthers } from "../external/addresses.ts";
import { troubleOf } from "../external/failure.ts";
import { ExternalQueries } from "../external/queries.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";

const connectTimeoutMs = 5_000;
const checkEveryMs = 5_000;
/** Before the second look at a server that has not answered. */
const secondLookMs = 1_000;
/** Longer than at the start: a busy server may take its time. */
const checkTimeoutMs = 15_000;

export type ExternalOptions = {
  readonly passwords: ConnectionPasswords;
  readonly policy: OutgoingPolicy;
  readonly logger: Logger;
};

type Found = { readonly address: ExternalAddress; readonly version: string };

export class ExternalRuntime implements ServiceRuntime {
  readonly #options: ExternalOptions;

  constructor(options: ExternalOptions) {
    this.#options = options;
  }

  /** Connects to the first host that answers. Rejects with a sentence that names every host's trouble. */
  async start(service: Service): Promise<RunningEngine> {
    const { connection, connectionPassword } = service;
    if (connection === null) throw new AppError("CONNECTION_INVALID", "The service has no connection.");
    const password = this.#options.passwords.open(service);
    const { address, version } = await firstThatAnswers(addressesOf(connection, password, this.#options.policy));
    const queries = new ExternalQueries(address);
    const key = randomBytes(32).toString("hex");
    const listener = await listenForGateway({ port: 0, key }, queries, this.#options.logger);
    const stopping = new AbortController();
    const ended = untilAway(address, stopping.signal).finally(() => {
      listener.close();
      queries.close();
    });
    return {
      address,
      readerAddress: readerOf(address),
      isCurrent: async (now) =>
        now.connectionPassword === connectionPassword && isDeepStrictEqual(now.connection, connection),
      forwardAddress: { port: listener.port, key },
      version,
      limitDisk: () => {},
      ended,
      stop: async () => {
        stopping.abort();
        await ended;
      },
    };
  }

  /** The server keeps everything. */
  async remove(): Promise<void> {}
}

async function firstThatAnswers(addresses: readonly ExternalAddress[]): Promise<Found> {
  const troubles: string[] = [];
  for (const [index, address] of addresses.entries()) {
    try {
      const version = await versionOf(address, connectTimeoutMs);
      return { address: withOthers(address, addresses), version };
    } catch (error) {
      troubles.push(troubleOf(error, address, index).message);
    }
  }
  throw new AppError("CONNECTION_UNREACHABLE", `${troubles.join("; ")}.`);
}

async function versionOf(address: ExternalAddress, limitMs: number): Promise<string> {
  const client = new ClickHouseClient(address);
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(new Error("timed out")), limitMs);
  try {
    return (await client.text("SELECT version()", { signal: time.signal, settings: { log_queries: 0 } })).trim();
  } finally {
    clearTimeout(timer);
    client.close();
  }
}

/** Resolves with a sentence when the server has not answered twice, or when the signal aborts. */
async function untilAway(address: ExternalAddress, signal: AbortSignal): Promise<string> {
  let missed = false;
  for (;;) {
    await sleep(missed ? secondLookMs : checkEveryMs, signal);
    if (signal.aborted) return `${urlOf(address)} was left`;
    try {
      await versionOf(address, checkTimeoutMs);
      missed = false;
    } catch (error) {
      if (missed) return `${troubleOf(error, address, 0).message}.`;
      missed = true;
    }
  }
}
