/** What a confined process can reach when nothing else stops it. Each attempt succeeds without confinement. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attempt, type Outcomes } from "../../harness/probe.ts";
import { compileCacheFolder } from "../lib/compile-cache.ts";
import { engineRules, pipeWorkerRules } from "./process-rules.ts";
import type { Rules } from "./rules.ts";
import { confinementState } from "./state.ts";

const { confined, sentence } = confinementState();
if (!confined) console.log(`skipped: ${sentence}`);

const house = mkdtempSync(join(tmpdir(), "millrace-wall-"));
const at = (...names: string[]) => join(house, ...names);
const own = at("services", "a", "data");
const staging = at("staging", "a");
const others = at("services", "b", "data");
const abstract = `\0${house}`;
const program = fileURLToPath(new URL("./wall.real.test.ts", import.meta.url));
const compiled = compileCacheFolder() as string;
const x64 = process.arch === "x64";
const servers: Server[] = [];
const victim = spawn("sleep", ["1000"], { stdio: "ignore", env: { CANARY: "in the environment" } });
let allowedPort = 0;
let otherPort = 0;

async function listening(where: object): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  servers.push(server.listen(where));
  await once(server, "listening");
  return server;
}

beforeAll(async () => {
  for (const path of [own, staging, others, at("sockets")]) mkdirSync(path, { recursive: true });
  for (const name of ["secret.key", "millrace.db", "decoy"]) writeFileSync(at(name), "CANARY");
  writeFileSync(join(others, "rows.bin"), "CANARY");
  writeFileSync(join(own, "rows.bin"), "mine");
  allowedPort = ((await listening({ host: "127.0.0.1", port: 0 })).address() as AddressInfo).port;
  otherPort = ((await listening({ host: "127.0.0.1", port: 0 })).address() as AddressInfo).port;
  await listening({ path: at("sockets", "engine") });
  await listening({ path: abstract });
});

afterAll(() => {
  victim.kill("SIGKILL");
  for (const server of servers) server.close();
  rmSync(house, { recursive: true, force: true });
});

const text = JSON.stringify;

/** Everything that must not be possible, as expressions of the probe. */
function forbidden(): Record<string, string> {
  return {
    "read the key": `fs.readFileSync(${text(at("secret.key"))})`,
    "read the metadata": `fs.readFileSync(${text(at("millrace.db"))})`,
    "read another service": `fs.readFileSync(${text(join(others, "rows.bin"))})`,
    "read on a thread of the pool": `fs.promises.readFile(${text(at("secret.key"))})`,
    "read on a thread of its own": `new Promise((resolve, reject) => {
      const { Worker } = require("node:worker_threads");
      const code = 'process.getBuiltinModule("node:fs").readFileSync(' + ${text(text(at("secret.key")))} + ')';
      new Worker(code, { eval: true }).once("error", reject).once("exit", resolve);
    })`,
    "list the installation": `fs.readdirSync(${text(house)})`,
    "write to another service": `fs.appendFileSync(${text(join(others, "rows.bin"))}, "x")`,
    "write to the program": `fs.closeSync(fs.openSync(${text(program)}, "r+"))`,
    "leave compiled code for others": `fs.writeFileSync(${text(join(compiled, "code"))}, "x")`,
    "make a file beside its folder": `fs.writeFileSync(${text(at("services", "a", "new"))}, "x")`,
    "cut a file off": `fs.truncateSync(${text(at("decoy"))}, 3)`,
    "remove a file": `fs.unlinkSync(${text(at("decoy"))})`,
    "link a file into its folder": `fs.linkSync(${text(at("secret.key"))}, ${text(join(own, "link"))})`,
    "make a symbolic link where others read": `fs.symlinkSync("/etc/passwd", ${text(join(staging, "link"))})`,
    // The call itself succeeds.
    "change the mode of a file": `(() => {
      const { mode } = fs.statSync(${text(at("secret.key"))});
      fs.chmodSync(${text(at("secret.key"))}, mode ^ 0o010);
      if (fs.statSync(${text(at("secret.key"))}).mode === mode) throw Object.assign(new Error(), { code: "EPERM" });
    })()`,
    "run a shell": `run("/bin/sh", "-c", "true")`,
    "run a program by the loader": `run("/lib64/ld-linux-x86-64.so.2", "/bin/true")`,
    "read by a Node of its own": `run(process.execPath, "-e", 'fs.readFileSync(' + ${text(text(at("secret.key")))} + ')')`,
    "connect to a port": `connect({ host: "127.0.0.1", port: ${otherPort} })`,
    "listen on a port": `listen({ host: "127.0.0.1", port: 0 })`,
    "send a datagram": `opened(dgram.createSocket("udp4").bind(0), "listening")`,
    "connect to a socket of others": `connect({ path: ${text(at("sockets", "engine"))} })`,
    "connect to an abstract socket": `connect({ path: ${text(abstract)} })`,
    "signal the control plane": "process.kill(process.ppid, 0)",
    "signal a neighbour": `process.kill(${victim.pid}, 0)`,
    "read the environment of others": `fs.readFileSync("/proc/${victim.pid}/environ")`,
    "read the memory map of the control plane": 'fs.readFileSync("/proc/" + process.ppid + "/maps")',
    "read the command line of others": `fs.readFileSync("/proc/${victim.pid}/cmdline")`,
    "list processes": 'fs.readdirSync("/proc")',
    "read its own environment": 'fs.readFileSync("/proc/self/environ")',
    "list the sockets of the machine": 'fs.readFileSync("/proc/self/net/tcp")',
    "list them by a thread": 'fs.readFileSync("/proc/self/task/" + process.pid + "/net/tcp")',
    "list them by another name": 'fs.readFileSync("/proc/net/tcp6")',
    "open its own memory": 'fs.closeSync(fs.openSync("/proc/self/mem"))',
  };
}

/** What a kernel may refuse to an unconfined process too: by its configuration, or because arguments are missing. */
const uncertain = ["take a descriptor of a neighbour", "make namespaces", "connect by another protocol"];

/** System calls by number, on x64. */
function forbiddenCalls(): Record<string, string> {
  return {
    "trace a neighbour": `syscall(101, 16, ${victim.pid})`,
    "take a descriptor of a neighbour": `syscall(438, 0, 0)`,
    "make namespaces": "syscall(272, 0x10000000)",
    "change the limits of a neighbour": `syscall(302, ${victim.pid}, 7, 0, 0)`,
    "slow a neighbour down": `syscall(141, 0, ${victim.pid}, 19)`,
    "connect by sending": `syscall(44, syscall(41, 2, 1, 0), Buffer.from("x"), 1, 0x20000000, loopback(${otherPort}), 16)`,
    "connect by another protocol": `syscall(42, syscall(41, 2, 1, 262), loopback(${otherPort}), 16)`,
    "make a pipe where others read": `syscall(133, Buffer.from(${text(`${join(staging, "pipe")}\0`)}), 0o10600, 0)`,
  };
}

/** Refused by the confinement, and not for another reason. */
const refusals = ["EACCES", "EPERM", "EXDEV", "EAFNOSUPPORT", "errno 1", "errno 13", "errno 97"];

function notRefused(outcomes: Outcomes): [string, string][] {
  return Object.entries(outcomes).filter(([, outcome]) => !refusals.includes(outcome));
}

/** Programs that ran and failed, or were not run: their own error shows it, not a code. */
const programs = ["run a program by the loader", "read by a Node of its own"];

function engine(): Rules {
  const access = { dataDir: own, folders: [staging], bindPorts: [] };
  return engineRules({ ...access, connectPorts: [allowedPort] });
}

describe.skipIf(!confined)("an engine", () => {
  test("reaches nothing but its own folders and its port", async () => {
    // The files of its threads are in reach, because the engine reads one of each.
    const { "list them by a thread": _, ...rest } = forbidden();
    const outcomes = await attempt({ ...rest, ...(x64 ? forbiddenCalls() : {}) }, engine());
    for (const name of programs) expect(outcomes[name]).not.toBe("done");
    for (const name of programs) delete outcomes[name];
    expect(notRefused(outcomes)).toEqual([]);
  });

  test("could do all of it without the wall", async () => {
    const calls = Object.entries(forbiddenCalls()).filter(([name]) => !uncertain.includes(name));
    const outcomes = await attempt({ ...forbidden(), ...(x64 ? Object.fromEntries(calls) : {}) }, undefined);
    expect(Object.entries(outcomes).filter(([, outcome]) => outcome !== "done")).toEqual([]);
    writeFileSync(at("decoy"), "CANARY");
    const made = [
      join(own, "link"),
      join(staging, "link"),
      join(staging, "pipe"),
      join(compiled, "code"),
      at("services", "a", "new"),
    ];
    for (const path of made) rmSync(path, { force: true });
  });

  test("does its own work", async () => {
    const outcomes = await attempt(
      {
        write: `fs.writeFileSync(${text(join(own, "new"))}, "x")`,
        move: `fs.renameSync(${text(join(own, "new"))}, ${text(join(staging, "new"))})`,
        link: `fs.symlinkSync("rows.bin", ${text(join(own, "symbolic"))})`,
        make: `fs.rmSync(${text(join(own, "folder"))}, { recursive: true, force: true })`,
        read: `fs.readFileSync(${text(join(own, "symbolic"))})`,
        connect: `connect({ host: "127.0.0.1", port: ${allowedPort} })`,
        itself: "process.kill(process.pid, 0)",
        status: 'fs.readFileSync("/proc/self/status")',
        thread: 'fs.readFileSync("/proc/thread-self/schedstat")',
        memory: 'fs.readFileSync("/proc/meminfo")',
        // Else the engine asks the kernel for the time, and not the page that the kernel has given to the process.
        clock: 'fs.readFileSync("/proc/self/auxv")',
        random: 'fs.closeSync(fs.openSync("/dev/urandom"))',
        nothing: 'fs.writeFileSync("/dev/null", "x")',
      },
      engine(),
    );
    expect(Object.entries(outcomes).filter(([, outcome]) => outcome !== "done")).toEqual([]);
    rmSync(join(own, "symbolic"));
  });

  test("cannot put something else in the place of a folder that is named in its rules", async () => {
    const outcomes = await attempt({ replace: `fs.rmSync(${text(own)}, { recursive: true })` }, engine());
    expect(notRefused(outcomes)).toEqual([]);
    expect(existsSync(own)).toBe(true);
    writeFileSync(join(own, "rows.bin"), "mine");
  });
});

describe.skipIf(!confined)("a pipe worker", () => {
  test("reaches any port, and else nothing", async () => {
    const rules = pipeWorkerRules([]);
    const { "connect to a port": connect, "send a datagram": send, ...rest } = forbidden();
    const outcomes = await attempt({ ...rest, own: `fs.readFileSync(${text(join(own, "rows.bin"))})` }, rules);
    for (const name of programs) expect(outcomes[name]).not.toBe("done");
    for (const name of programs) delete outcomes[name];
    expect(notRefused(outcomes)).toEqual([]);
    expect(await attempt({ connect: connect as string, send: send as string }, rules)).toEqual({
      connect: "done",
      send: "done",
    });
  });
});
