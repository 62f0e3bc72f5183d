/** What a confined process that was taken over tries, beyond files and ports: one attempt each at what was possible. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attempt } from "../../harness/probe.ts";
import { engineRules, nodeRules, pipeWorkerRules } from "./process-rules.ts";
import { confinementState } from "./state.ts";

const { confined, sentence } = confinementState();
if (!confined) console.log(`skipped: ${sentence}`);

const house = mkdtempSync(join(tmpdir(), "millrace-taken-over-"));
const quoted = (...names: string[]) => JSON.stringify(join(house, ...names));
beforeAll(() => {
  for (const name of ["data", "neighbour", "worker"]) mkdirSync(join(house, name));
  writeFileSync(join(house, "secret.key"), "CANARY");
});
afterAll(() => rmSync(house, { recursive: true, force: true }));

const engine = () =>
  engineRules({
    dataDir: join(house, "data"),
    folders: [],
    connectPorts: [],
    bindPorts: [],
  });

/** x64 alone: the expressions contain its numbers of system calls. */
const cannotTry = !confined || process.arch !== "x64";

describe.skipIf(cannotTry)("a process that was taken over", () => {
  test.each([
    ["an engine host", engine],
    ["a pipe worker", () => pipeWorkerRules([])],
  ])("%s starts no process, keeps none and reaches no other", async (_, rules) => {
    const outcomes = await attempt(
      {
        fork: "{ if (syscall(57) === 0) syscall(231, 0) }",
        vforkLike: "{ if (syscall(56, 17) === 0) syscall(231, 0) }",
        run: 'run("/bin/true")',
        runInPlace: 'syscall(59, Buffer.from("/bin/true\\0"), 0, 0)',
        memory: 'syscall(319, Buffer.from("program\\0"), 0)',
        executeDescriptor: 'syscall(322, 3, Buffer.from("\\0"), 0, 0, 0x1000)',
        outliveParent: "syscall(157, 1, 0)",
        openProcess: "syscall(434, process.ppid, 0)",
        watch: `syscall(254, syscall(294, 0), Buffer.from(${quoted("neighbour")} + "\\0"), 0xfff)`,
        passDescriptor: "syscall(46, 3, Buffer.alloc(56), 0)",
        passDescriptors: "syscall(307, 3, Buffer.alloc(64), 1, 0)",
        attachSegment: "syscall(30, 0x7fffff, 0, 0)",
        removeSegment: "syscall(31, 0x7fffff, 0, 0)",
        removeQueue: "syscall(71, 0x7fffff, 0, 0)",
        removeSemaphore: "syscall(66, 0x7fffff, 0, 0, 0)",
        unlinkQueue: 'syscall(241, Buffer.from("queue\\0"))',
        environment: 'fs.readFileSync("/proc/" + process.ppid + "/environ")',
        memoryOfParent: 'fs.openSync("/proc/" + process.ppid + "/mem", "r")',
        sharedMemory: 'fs.writeFileSync("/dev/shm/millrace-canary", "")',
        machineSockets: "syscall(41, 40, 1, 0)",
      },
      rules(),
    );
    const { runInPlace, environment, memoryOfParent, sharedMemory, machineSockets, run, ...calls } = outcomes;
    expect({ runInPlace, environment, memoryOfParent, sharedMemory, machineSockets, run }).toEqual({
      runInPlace: "errno 13",
      environment: "EACCES",
      memoryOfParent: "EACCES",
      sharedMemory: "EACCES",
      machineSockets: "errno 97",
      run: "EPERM",
    });
    for (const [name, outcome] of Object.entries(calls)) expect(outcome, name).toBe("errno 1");
  });

  test("makes the kernel signal nobody else, also with a Landlock that does not know signals", async () => {
    const outcomes = await attempt(
      {
        owner: "syscall(72, 0, 8, process.ppid)",
        ownerGroup: "syscall(72, 0, 15, Buffer.alloc(8))",
        byRequest: "syscall(16, 0, 0x8901, Buffer.alloc(4))",
        input: "syscall(16, 0, 0x5412, Buffer.alloc(1))",
      },
      nodeRules,
      { landlock: 5 },
    );
    expect(outcomes).toEqual({ owner: "errno 1", ownerGroup: "errno 1", byRequest: "errno 1", input: "errno 1" });
  });
});

test.skipIf(!confined)("a descriptor that this process has inherited is closed in its children", async () => {
  // A process that has inherited descriptor 9, and starts a confined child.
  const parent = `
    const { spawnConfined } = await import(${JSON.stringify(new URL("./spawn.ts", import.meta.url).href)});
    const { nodeRules } = await import(${JSON.stringify(new URL("./process-rules.ts", import.meta.url).href)});
    const program = 'process.send(["/proc/self/fd/9"].map((path) => { try { return fs.readlinkSync(path) } catch (error) { return error.code } }))';
    spawnConfined(process.execPath, ["--eval", program], nodeRules, { stdio: ["ignore", "ignore", "inherit", "ipc"], environment: {} })
      .once("message", (seen) => process.send(seen, () => process.exit(0)));`;
  const secret = openSync(join(house, "secret.key"), "r");
  const stdio = [
    "ignore",
    "ignore",
    "inherit",
    "ipc",
    "ignore",
    "ignore",
    "ignore",
    "ignore",
    "ignore",
    secret,
  ] as const;
  const started = spawn(process.execPath, ["--input-type=module", "--eval", parent], { stdio: [...stdio] });
  const [seen] = await once(started, "message");
  closeSync(secret);
  expect(seen[0]).not.toBe(join(house, "secret.key"));
});
