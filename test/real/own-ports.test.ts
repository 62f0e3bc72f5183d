/** The whole program: which of its ports a user can have it connect to, and what a stranger does to an engine. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listenersOf, listeningPortsOf, processTree } from "../../harness/network/process-ports.ts";
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

const listening = () => [...listeningPortsOf(processTree(served.process.pid ?? 0))];

async function refusalAt(port: number, host = "127.0.0.1"): Promise<string> {
  const url = `https://${host}:${port}/bucket/x.csv`;
  const read = `SELECT * FROM s3('${url}', NOSIGN, 'CSV', 'x String') SETTINGS s3_retry_attempts = 0`;
  return await query(service, read).then(
    () => "it was allowed",
    (error: Error) => error.message,
  );
}

test.skipIf(skip !== false)("every port that a process of the server listens on is an own port", async () => {
  const ports = listening();
  // The API; per service its endpoint, the proxy, the host's port and the engine's.
  expect(ports.length).toBeGreaterThanOrEqual(9);
  const reached: number[] = [];
  for (const port of ports) if (!/is this server itself/.test(await refusalAt(port))) reached.push(port);
  expect(reached).toEqual([]);
});

test.skipIf(skip !== false)("garbage at every port of 127.0.0.1 ends nothing", async () => {
  const before = processTree(served.process.pid ?? 0);
  const hello = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
  for (const port of listening()) {
    for (const bytes of ["GET / HT", hello, "POST / HTTP/1.1\r\nX-Click", "\r\n\r\n", "x".repeat(70_000)]) {
      await new Promise<void>((closed) => {
        // The engine's port is refused: it is open at another address.
        const socket = connect(port, "127.0.0.1").on("error", () => {});
        socket.once("connect", () => socket.write(bytes, () => socket.destroy()));
        socket.once("close", () => closed());
      });
    }
  }
  // An engine that is going to end does so within milliseconds.
  expect(await query(service, "SELECT sleep(0.5)")).toBe("0");
  expect(processTree(served.process.pid ?? 0)).toEqual(expect.arrayContaining(before));
});

test.skipIf(skip !== false)("an engine's own ports are at an address that nothing tells, and are refused", async () => {
  const tree = processTree(served.process.pid ?? 0);
  const named = tree.flatMap((pid) => readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0"));
  const ports = named.flatMap((argument) => /^--(?:native-)?port=(\d+)$/.exec(argument)?.[1] ?? []).map(Number);
  const engines = listenersOf(tree).filter(({ port, host }) => ports.includes(port) && host !== "127.0.0.1");
  // Two engines with HTTP and the native protocol each. Garbage there ends the engine library.
  expect(engines).toHaveLength(4);
  expect(new Set(engines.map(({ host }) => host)).size).toBe(2);
  for (const { host, port } of engines) {
    expect(host).toMatch(/^127\./);
    expect(await refusalAt(port, host)).toContain("is this server itself");
  }
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
