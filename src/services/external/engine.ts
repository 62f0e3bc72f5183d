/** A ClickHouse server as the engine of a service: the connection to it, and the listener that passes requests on. */
import { randomBytes } from "node:crypto";
import { ClickHouseClient } from "../../clickhouse/client.ts";
import { listenForGateway } from "../../endpoint/handoff/gateway-listener.ts";
import { sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { RunningEngine } from "../runtime.ts";
import { type ExternalAddress, readerOf, urlOf, withOthers } from "./addresses.ts";
import { troubleOf } from "./failure.ts";
import { ExternalQueries } from "./queries.ts";

const connectTimeoutMs = 5_000;
const checkEveryMs = 5_000;
/** Before the second look at a server that has not answered. */
const secondLookMs = 1_000;
/** Longer than at the start: a busy server may take its time. */
const checkTimeoutMs = 15_000;

export type Found = { readonly address: ExternalAddress; readonly version: string };

export type Connecting = {
  readonly isCurrent: RunningEngine["isCurrent"];
  readonly logger: Logger;
};

/**
 * Connects to the first host that answers. `stop` forgets the connection, and nothing of it reaches the server. Rejects
 * with CONNECTION_UNREACHABLE, whose sentence names every host's trouble.
 */
export async function connectEngine(
  addresses: readonly ExternalAddress[],
  { isCurrent, logger }: Connecting,
): Promise<RunningEngine> {
  const { address, version } = await firstThatAnswers(addresses);
  const queries = new ExternalQueries(address);
  const key = randomBytes(32).toString("hex");
  const listener = await listenForGateway({ port: 0, key }, queries, logger);
  const stopping = new AbortController();
  const ended = untilAway(address, stopping.signal).finally(() => {
    listener.close();
    queries.close();
  });
  return {
    address,
    readerAddress: readerOf(address),
    isCurrent,
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

/** Throws CONNECTION_UNREACHABLE. */
export async function firstThatAnswers(addresses: readonly ExternalAddress[]): Promise<Found> {
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
  using client = new ClickHouseClient(address);
  const time = new AbortController();
  using _ = setTimeout(() => time.abort(new Error("timed out")), limitMs);
  return (await client.text("SELECT version()", { signal: time.signal, settings: { log_queries: 0 } })).trim();
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
