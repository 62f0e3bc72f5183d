/**
 * What programs of others send to the ClickHouse Cloud API and to endpoints of services, and the answers that they
 * accepted. A recorder stands between such a program and the server; a replay sends the same requests to another server
 * and expects the same answers.
 */
import assert from "node:assert";
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export type Exchange = {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  readonly answer: unknown;
};

/** Texts and ports that differ from run to run, by the names that a recording has for them. */
export type Names = Readonly<Record<string, string | number>>;

export type Recorder = AsyncDisposable & {
  readonly url: string;
  /** What was sent, with `{{name}}` in place of what is named. */
  taken(names: Names): Exchange[];
};

/** Passes requests on to `target`, a base URL without a path. */
export async function startRecorder(target: string): Promise<Recorder> {
  const exchanges: Exchange[] = [];
  const server = createServer((asked, answered) => {
    void pass(target, asked).then(({ exchange, text, type }) => {
      exchanges.push(exchange);
      answered.writeHead(exchange.status, { "content-type": type ?? "text/plain" }).end(text);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken: (names) => {
      const shown = exchanges.map((one) => ({ ...one, answer: comparable(one.answer) }));
      return withoutRepeats(JSON.parse(named(JSON.stringify(shown), names)) as Exchange[]);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function pass(target: string, asked: IncomingMessage) {
  const { method = "", url: path = "" } = asked;
  const body = await textOf(asked);
  const passed = ["authorization", "content-type", "x-clickhouse-format"].flatMap((name) => {
    const value = asked.headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const headers = { ...Object.fromEntries(passed), "content-length": Buffer.byteLength(body) };
  const sent = request(`${target}${path}`, { method, headers });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const text = await textOf(response);
  const { statusCode: status = 0 } = response;
  const exchange = { method, path, ...(body === "" ? {} : { body: jsonOr(body) }), status, answer: jsonOr(text) };
  return { exchange, text, type: response.headers["content-type"] };
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** The JSON of a text, or the text itself. */
export function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function named(json: string, names: Names): string {
  return Object.entries(names).reduce(
    (text, [name, value]) =>
      typeof value === "number"
        ? text.replaceAll(`:${value},`, `:"{{${name}}}",`)
        : text.replaceAll(inJson(value), `{{${name}}}`),
    json,
  );
}

function filled(json: string, names: Names): string {
  return Object.entries(names).reduce(
    (text, [name, value]) =>
      typeof value === "number"
        ? text.replaceAll(`"{{${name}}}"`, String(value))
        : text.replaceAll(`{{${name}}}`, inJson(value)),
    json,
  );
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);

/**
 * Programs that wait ask the same until the answer has changed: between two writes, the last answers count, and those
 * that say the same as before count once.
 */
function withoutRepeats(exchanges: readonly Exchange[]): Exchange[] {
  const last = new Map<string, string>();
  return exchanges.filter(({ method, path, answer }, at) => {
    if (method !== "GET") return true;
    const after = exchanges.slice(at + 1);
    const end = after.findIndex((one) => one.method !== "GET");
    const reads = end === -1 ? after : after.slice(0, end);
    if (reads.some((later) => later.path === path)) return false;
    const text = JSON.stringify(answer);
    const isKnown = last.get(path) === text;
    last.set(path, text);
    return !isKnown;
  });
}

export type Send = (exchange: Exchange) => Promise<{ readonly status: number; readonly answer: unknown }>;

/**
 * Sends what was recorded. Each request must be answered as it was then: with the same status and members, and with the
 * same values but for ids, times, addresses and what `varying` names. A read is repeated until it is so, for at most
 * two minutes.
 */
export async function replay(recorded: readonly Exchange[], names: Names, send: Send): Promise<void> {
  const ids = new Map<string, string>();
  const now = <T>(value: T): T => {
    const text = filled(JSON.stringify(value), names).replaceAll(uuid, (id) => ids.get(id) ?? id);
    return JSON.parse(text) as T;
  };
  for (const [at, then] of recorded.entries()) {
    const deadline = performance.now() + (then.method === "GET" ? 120_000 : 0);
    // How far a change is when it is answered depends on the machine.
    const isOver = then.method === "GET" && !passing.test(JSON.stringify(then.answer));
    const left = isOver ? varying : new Set([...varying, "state"]);
    for (;;) {
      const { status, answer } = await send(now(then));
      if (status === then.status) learn(then.answer, answer, ids);
      const [actual, expected] = [
        comparable({ status, answer }, left),
        comparable(now({ status: then.status, answer: then.answer }), left),
      ];
      try {
        assert.deepStrictEqual(actual, expected);
        break;
      } catch (error) {
        if (performance.now() >= deadline) {
          throw new Error(`request ${at}, ${then.method} ${then.path}: ${(error as Error).message}`, { cause: error });
        }
      }
      await delay(100);
    }
  }
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Ids at the same places are those of the same objects. */
function learn(then: unknown, now: unknown, ids: Map<string, string>): void {
  if (typeof then === "string" && typeof now === "string") {
    const [before, after] = [then.match(uuid) ?? [], now.match(uuid) ?? []];
    for (const [at, id] of before.entries()) if (!ids.has(id) && after[at] !== undefined) ids.set(id, after[at]);
  } else if (typeof then === "object" && typeof now === "object" && then !== null && now !== null) {
    for (const [name, member] of Object.entries(then)) learn(member, (now as Record<string, unknown>)[name], ids);
  }
}

/** States of pipes that end by themselves: a read that comes later does not see them. */
const passing = /"state":"(?:Provisioning|Snapshot|Modifying|Resync)"/;

/** Members that depend on the machine, the moment or the load. */
const varying = new Set([
  // Made at random, or chosen among what is free.
  ...["requestId", "password", "keySuffix", "port"],
  // What loops have seen by now: alerts by the clock, others by the load.
  ...["lastError", "stateMessage", "progress", "tables", "pipes", "leftovers", "idle", "usedAt", "stateChangedAt"],
  ...["evaluatedUntil", "executionErrors"],
  // Versions, sizes and counts.
  ...["clickhouseVersion", "diskUsedBytes", "rows", "statistics"],
]);

function comparable(value: unknown, left: ReadonlySet<string> = varying): unknown {
  if (typeof value === "string") {
    return value
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "a time")
      .replaceAll(/127\.0\.0\.1:\d+/g, "an address")
      .replaceAll(/\b\d\d\.\d{1,2}\.\d+\.\d+\b/g, "a version");
  }
  if (Array.isArray(value)) return value.map((one) => comparable(one, left));
  if (typeof value !== "object" || value === null) return value;
  // The state of an alert is what its evaluations were.
  const isAlert = Object.hasOwn(value, "evaluatedUntil");
  const kept = Object.entries(value).filter(([name]) => !left.has(name) && !(isAlert && name === "state"));
  return Object.fromEntries(
    kept.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, comparable(one, left)]),
  );
}
