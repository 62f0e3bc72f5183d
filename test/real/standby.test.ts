/** Prepared engine hosts: an idle service wakes in the one prepared for it, unless it does not fit any more. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BenchService, query, runningService, type Served, serve, until } from "../../harness/serve.ts";

if (process.platform !== "linux") console.log("skipped: the command lines of processes are read from /proc");

let served: Served;
let first: BenchService;
let second: BenchService;
beforeAll(async () => {
  served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "20", MILLRACE_STANDBY_ENGINES: "1" } });
  first = await runningService(served, { idleTimeoutMinutes: 5 });
  await query(first, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
  await query(first, "INSERT INTO t SELECT number FROM numbers(1000)");
});
afterAll(() => served[Symbol.asyncDispose]());

type HostProcess = { readonly pid: number; readonly isStandby: boolean; readonly memoryBytes: number };

/** The engine hosts of this service, by the kernel's account of the server's children. */
function hostsOf({ id }: BenchService): HostProcess[] {
  const pid = served.process.pid as number;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => {
    const args = argumentsOf(child);
    if (!args.some((arg) => arg.startsWith("--data-dir=") && arg.includes(id))) return [];
    const memory = args.find((arg) => arg.startsWith("--max-memory-bytes="))?.split("=")[1];
    return [{ pid: child, isStandby: args.includes("--standby"), memoryBytes: Number(memory) }];
  });
}

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

const rows = (service: BenchService) => query(service, "SELECT count() FROM t");
const enginePid = ({ id }: BenchService) =>
  (JSON.parse(readFileSync(`${served.dataDir}/services/${id}/engine.pid`, "utf8")) as { pid: number }).pid;

/** Waits until the service is idle and its next start is prepared. */
async function prepared(service: BenchService): Promise<HostProcess> {
  await until("idle", async () => (await served.api.getService({ params: service.params })).state === "idle");
  return await until("its next start is prepared", async () => hostsOf(service).find(({ isStandby }) => isStandby));
}

const noneFor = (service: BenchService) =>
  until("no process of the service is left", async () => hostsOf(service).length === 0);

test.runIf(process.platform === "linux")("prepared engine hosts", { timeout: 300_000 }, async () => {
  const used = await prepared(first);
  expect(await rows(first), "an idle service has its rows").toBe("1000");
  expect(enginePid(first), "it wakes in the prepared process").toBe(used.pid);

  const killed = await prepared(first);
  process.kill(killed.pid, "SIGKILL");
  expect(await rows(first), "a prepared process that has died is missed by nobody").toBe("1000");
  expect(enginePid(first)).not.toBe(killed.pid);

  const small = await prepared(first);
  const memoryGb = (await served.api.getService({ params: first.params })).maxReplicaMemoryGb * 2;
  const body = { minReplicaMemoryGb: memoryGb, maxReplicaMemoryGb: memoryGb };
  await served.api.updateServiceScaling({ params: first.params, body });
  expect(await rows(first), "a service whose memory has changed while it was idle wakes").toBe("1000");
  const [large] = hostsOf(first).filter(({ pid }) => pid === enginePid(first));
  expect(large?.memoryBytes, "and has the new memory").toBe(small.memoryBytes * 2);
  expect(
    hostsOf(first).map(({ pid }) => pid),
    "and the process that did not fit is gone",
  ).not.toContain(small.pid);

  await prepared(first);
  second = await runningService(served, { idleTimeoutMinutes: 5 });
  await prepared(second);
  await noneFor(first);

  await served.api.updateServiceState({ params: second.params, body: { command: "stop" } });
  await noneFor(second);
});
