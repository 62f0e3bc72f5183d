/** How much a child in a control group can take from its neighbours. */
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { describe, expect, test } from "vitest";
import { until } from "../../harness/serve.ts";
import { availableGroups, type GroupLimits, wasOutOfMemory } from "./cgroups.ts";
import { nodeRules } from "./process-rules.ts";
import { spawnConfined } from "./spawn.ts";
import { confinementState } from "./state.ts";

const groups = availableGroups();
const possible = groups !== undefined && confinementState().landlock > 0;
if (!possible) console.log("skipped: control groups cannot be made here, or there is no launcher for them");

/** Starts a program in the group. */
function start(program: string, group: GroupLimits & { name: string }) {
  const args = ["--input-type=module", "--eval", program];
  const stdio = ["ignore", "ignore", "ignore", "ipc"] as const;
  return spawnConfined(process.execPath, args, nodeRules, { stdio: [...stdio], environment: {}, group });
}

/** Counts loop iterations for a second, with `threads` further threads that only keep processors busy. */
const counting = (threads: number) => `
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const workers = Array.from({ length: ${threads} }, () => new Worker("for (;;);", { eval: true }));
  const count = (ms) => { let turns = 0; for (const end = Date.now() + ms; Date.now() < end;) turns += 1; return turns; };
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("online", resolve))));
  process.send(count(1000), () => process.exit(0));`;

describe.skipIf(!possible)("a control group", () => {
  test("holds its child and goes with it", async () => {
    const child = start("setInterval(() => {}, 1000); process.send(1)", { name: "test-member", tasks: 64 });
    await once(child, "message");
    const controllers = groups?.version === 1 ? Object.keys(groups.folders) : [""];
    await until("the child is in its groups", async () => {
      const inside = readFileSync(`/proc/${child.pid}/cgroup`, "utf8");
      return controllers.every((name) => new RegExp(`:${name}:.*/millrace-test-member$`, "m").test(inside));
    });
    const folders = groups?.version === 1 ? Object.values(groups.folders) : [groups?.folder as string];
    child.kill("SIGKILL");
    await until("the group is gone", async () => folders.every((path) => !existsSync(`${path}/millrace-test-member`)));
  });

  test("bounds threads", async () => {
    const program = `
      const { Worker } = process.getBuiltinModule("node:worker_threads");
      for (let i = 0; i < 200; i += 1) new Worker("setInterval(() => {}, 1000)", { eval: true });`;
    const child = start(program, { name: "test-tasks", tasks: 40 });
    const [code, signal] = await once(child, "exit");
    expect(code === 0 && signal === null).toBe(false);
  });

  test("bounds memory: the child is killed, nobody else", async () => {
    const program = "const kept = []; for (;;) kept.push(Buffer.alloc(2 ** 24, 1));";
    const child = start(program, { name: "test-memory", tasks: 64, memoryBytes: 2 ** 28 });
    expect((await once(child, "exit"))[1]).toBe("SIGKILL");
    expect(wasOutOfMemory(child)).toBe(true);
    // Under the same name, and killed by somebody else.
    const other = start("setInterval(() => {}, 1e6)", { name: "test-memory", tasks: 64, memoryBytes: 2 ** 28 });
    other.kill("SIGKILL");
    await once(other, "exit");
    expect(wasOutOfMemory(other)).toBe(false);
  });

  test("bounds processor time", async () => {
    // A second of work takes four seconds of a quarter of a processor; whatever else runs, it cannot take less.
    const program = `
      const began = performance.now();
      while (process.cpuUsage().user + process.cpuUsage().system < 1e6);
      process.send(performance.now() - began, () => process.exit(0));`;
    const child = start(program, { name: "test-quota", tasks: 64, cpuMillicores: 250 });
    const [ms] = (await once(child, "message")) as [number];
    expect(ms).toBeGreaterThan(2_500);
  });

  test("gives a quiet child its part of the processors beside one with many busy threads", async () => {
    const alone = start(counting(0), { name: "test-alone", tasks: 64 });
    const [free] = (await once(alone, "message")) as [number];
    const hostile = start(counting(16 * availableParallelism()), { name: "test-hostile", tasks: 256 });
    const quiet = start(counting(0), { name: "test-quiet", tasks: 64 });
    const [turns] = (await once(quiet, "message")) as [number];
    hostile.kill("SIGKILL");
    await once(hostile, "exit");
    // Without groups it would get the share of one thread among more than sixteen.
    expect(turns).toBeGreaterThan(free / 5);
  });
});
