/** The whole program: which of its ports a user can have it connect to, and what a stranger does to an engine. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hello } from "../../harness/native/client.ts";
import { listenersOf, processTree } from "../../harness/network/process-ports.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../harness/serve.ts";

const skip = process.platform === "linux" ? false : "the sockets of processes are known on Linux only";
if (skip !== false) console.log(`skipped: ${skip}`);

let served: Served;
let service: BenchService;

beforeAll(async () => {
  served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
  service = await runningService(served);
  await runningService(served);
});
afterAll(() => served?.[Symbol.asyncDispose]());

async function refusalAt({ host, port }: { host: string; port: number }): Promise<string> {
  const url = `https://${host}:${port}/bucket/x.csv`;
  const read = `SELECT * FROM s3('${url}', NOSIGN, 'CSV', 'x String') SETTINGS s3_retry_attempts = 0, s3_connect_timeout_ms = 60000`;
  return await query(service, read).then(
    () => "it was allowed",
    (error: Error) => error.message,
  );
}

test.skipIf(skip !== false)("every port that a process of the server listens on is an own port", async () => {
  const listening = listenersOf(processTree(served.process.pid ?? 0));
  // The API; per service its endpoint, the proxy, the host's port and the engine's.
  expect(listening.length).toBeGreaterThanOrEqual(9);
  const reached: string[] = [];
  for (const listener of listening) {
    const refusal = await refusalAt(listener);
    if (!/is this server itself/.test(refusal)) reached.push(`${listener.port}: ${refusal}`);
  }
  expect(reached).toEqual([]);
});

test.skipIf(skip !== false)(
  "garbage at every listener of the server, also those of engines, ends nothing",
  async () => {
    const before = processTree(served.process.pid ?? 0);
    const tls = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
    const native = hello({ database: "nowhere" });
    const garbage = [
      ...["GET / HT", "POST / HTTP/1.1\r\nX-Click", "\r\n\r\n", "x".repeat(70_000), "\0".repeat(100)],
      ...[tls, native, native.subarray(0, 3), Buffer.concat([native, native])],
    ];
    const engines = engineListeners();
    expect(engines).toHaveLength(4);
    for (const { host, port } of listenersOf(before)) {
      for (const bytes of garbage) {
        for (const end of ["destroy", "resetAndDestroy"] as const) await sendAndLeave(host, port, bytes, end);
      }
    }
    // An engine that is going to end does so within milliseconds.
    expect(await query(service, "SELECT sleep(0.5)")).toBe("0");
    expect(processTree(served.process.pid ?? 0)).toEqual(before);
    expect(engineListeners()).toEqual(engines);
  },
);

/** Leaves when there is an answer, or after a moment. */
async function sendAndLeave(host: string, port: number, bytes: string | Buffer, end: "destroy" | "resetAndDestroy") {
  const socket = connect(port, host).on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes);
  await Promise.race([once(socket, "data"), once(socket, "close"), delay(20)]);
  socket[end]();
  if (!socket.closed) await once(socket, "close");
}

/** Where engines listen: both interfaces of each, at an address of its own. */
function engineListeners() {
  const tree = processTree(served.process.pid ?? 0);
  const named = tree.flatMap((pid) => readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0"));
  const ports = named.flatMap((argument) => /^--(?:native-)?port=(\d+)$/.exec(argument)?.[1] ?? []).map(Number);
  return listenersOf(tree).filter(({ port, host }) => ports.includes(port) && host !== "127.0.0.1");
}

test.skipIf(skip !== false)("an engine's own ports are at an address that nothing tells", async () => {
  const engines = engineListeners();
  // Two engines with HTTP and the native protocol each.
  expect(engines).toHaveLength(4);
  expect(new Set(engines.map(({ host }) => host)).size).toBe(2);
  for (const { host } of engines) expect(host).toMatch(/^127\./);
  const asked = [
    "SELECT groupArray(tuple(address, initial_address, forwarded_for)) FROM system.processes",
    "SELECT groupUniqArray(tuple(address, initial_address, hostname)) FROM system.query_log",
    "SELECT groupArray(tuple(name, value)) FROM system.server_settings",
    "SELECT groupArray(tuple(host_name, host_address)) FROM system.clusters",
    "SELECT hostName(), FQDN()",
  ];
  // The engine makes the table some seconds after the first query.
  const isThere = "SELECT count() FROM system.tables WHERE database = 'system' AND name = 'query_log'";
  await until("the log of queries is there", async () => (await query(service, isThere)) === "1");
  for (const statement of asked) {
    const answer = await query(service, statement);
    for (const { host } of engines) expect(answer, statement).not.toContain(host);
  }
});
