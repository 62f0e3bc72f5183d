/** How a confined child is started: its streams and channel, its end, and what happens when it cannot be confined. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { attempt } from "../../harness/probe.ts";
import { until } from "../../harness/serve.ts";
import { startTimeOf } from "../lib/process.ts";
import { nodeRules } from "./process-rules.ts";
import { ReadyLauncher } from "./ready-launcher.ts";
import { spawnConfined } from "./spawn.ts";
import { confinementState } from "./state.ts";

const { landlock, sentence } = confinementState();
if (landlock === 0) console.log(`skipped: ${sentence}`);

const house = mkdtempSync(join(tmpdir(), "millrace-spawn-"));
const canary = join(house, "canary");
writeFileSync(canary, "CANARY");
afterAll(() => rmSync(house, { recursive: true, force: true }));

const node = (program: string) => [process.execPath, ["--eval", program]] as const;
const quiet = ["ignore", "ignore", "ignore"] as const;

describe.skipIf(landlock === 0)("a confined child", () => {
  test.each(Array.from({ length: landlock }, (_, index) => index + 1))(
    "is confined by version %i of Landlock as far as that goes",
    async (version) => {
      const outcomes = await attempt(
        {
          read: `fs.readFileSync(${JSON.stringify(canary)})`,
          write: `fs.appendFileSync(${JSON.stringify(canary)}, "x")`,
          run: 'run("/bin/true")',
          signal: "process.kill(process.ppid, 0)",
          socket: 'connect({ path: "/nowhere" })',
          connect: 'connect({ host: "127.0.0.1", port: 1 })',
        },
        nodeRules,
        { landlock: version },
      );
      expect(outcomes).toEqual({
        read: "EACCES",
        write: "EACCES",
        run: "EPERM",
        signal: "EPERM",
        socket: "EAFNOSUPPORT",
        connect: version < 4 ? "ECONNREFUSED" : "EACCES",
      });
    },
  );

  test("without the least version that it needs, has the rest of the wall", async () => {
    const attempts = { read: `fs.readFileSync(${JSON.stringify(canary)})`, signal: "process.kill(process.ppid, 0)" };
    const outcomes = await attempt(attempts, { ...nodeRules, leastLandlock: 2 }, { landlock: 1 });
    expect(outcomes).toEqual({ read: "done", signal: "EPERM" });
  });

  test("gets what is sent to it before it runs, connections too, in order", async () => {
    const program = `let seen = []; process.on("message", (message, socket) => {
      seen.push([message, socket?.remoteAddress ?? ""]);
      if (seen.length === 3) process.send(seen, () => process.exit(0));
    });`;
    const child = spawnConfined(...node(program), nodeRules, { stdio: [...quiet, "ipc"], environment: {} });
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = new (await import("node:net")).Socket().connect(server.address() as { port: number });
    const [socket] = (await once(server, "connection")) as [Socket];
    child.send("first");
    child.send("second", socket);
    child.send("third");
    const [seen] = await once(child, "message");
    expect(seen).toEqual([
      ["first", ""],
      ["second", "127.0.0.1"],
      ["third", ""],
    ]);
    client.destroy();
    server.close();
  });

  test("has exactly the given environment, streams and arguments", async () => {
    const program = "process.stdout.write(JSON.stringify([process.env, process.argv.slice(1)]))";
    const stdio = ["ignore", "pipe", "inherit"] as const;
    const [command, args] = node(program);
    const child = spawnConfined(command, [...args, "--", "--own"], nodeRules, {
      stdio: [...stdio],
      environment: { A: "b" },
    });
    let said = "";
    child.stdout?.on("data", (chunk) => {
      said += String(chunk);
    });
    await once(child, "close");
    expect(JSON.parse(said)).toEqual([{ A: "b" }, ["--own"]]);
  });

  test("does not run at all when it cannot be confined", async () => {
    const program = `require("node:fs").writeFileSync(${JSON.stringify(join(house, "ran"))}, "")`;
    const rules = { ...nodeRules, readWrite: [join(house, "missing")] };
    const child = spawnConfined(...node(program), rules, { stdio: ["ignore", "ignore", "pipe"], environment: {} });
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += String(chunk);
    });
    const [code] = await once(child, "close");
    expect(code).toBe(126);
    expect(said).toMatch(/^the process could not be confined: ENOENT.*missing/);
    expect(() => readFileSync(join(house, "ran"))).toThrow("ENOENT");
  });

  test("runs in the launcher that was ready, behind the same wall and with its own streams", async () => {
    const readyLauncher = new ReadyLauncher();
    const program = `fs.readFile(${JSON.stringify(canary)}, (error) => process.send(error.code)); process.once("message", () => process.exit(7))`;
    const start = () =>
      spawnConfined(...node(program), nodeRules, { stdio: [...quiet, "ipc"], environment: {}, readyLauncher });
    const known = childrenOf(process.pid);
    const [first] = [start()];
    await once(first, "message");
    const waiting = await until("a launcher waits", async () =>
      childrenOf(process.pid).find((pid) => !known.includes(pid) && pid !== first.pid),
    );
    const second = start();
    expect(second.pid).toBe(waiting);
    expect((await once(second, "message"))[0]).toBe("EACCES");
    for (const child of [first, second]) {
      child.send("end");
      expect((await once(child, "exit"))[0]).toBe(7);
    }
  });

  test("leaves no launcher behind that waits, when its parent is killed", async () => {
    const parent = `
      const { ReadyLauncher } = await import(${JSON.stringify(new URL("./ready-launcher.ts", import.meta.url).href)});
      new ReadyLauncher().take(["ignore", "ignore", "ignore", "ipc"], undefined).kill();
      setInterval(() => {}, 1_000);`;
    const started = spawn(process.execPath, ["--input-type=module", "--eval", parent], { stdio: "ignore" });
    const waiting = await until("a launcher waits", async () => {
      const [pid] = childrenOf(started.pid as number);
      return pid !== undefined && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("launcher.ts")
        ? pid
        : undefined;
    });
    started.kill("SIGKILL");
    await until("the launcher has ended", async () => startTimeOf(waiting) === undefined);
  });

  test("ends with its parent, whatever it is doing", async () => {
    const parent = `
      const { spawnConfined } = await import(${JSON.stringify(new URL("./spawn.ts", import.meta.url).href)});
      const { nodeRules } = await import(${JSON.stringify(new URL("./process-rules.ts", import.meta.url).href)});
      const child = spawnConfined(process.execPath, ["--eval", "process.send(1); for (;;);"], nodeRules,
        { stdio: ["ignore", "ignore", "inherit", "ipc"], environment: {} });
      child.once("message", () => process.send(child.pid));`;
    const args = ["--input-type=module", "--eval", parent];
    const started = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const [pid] = (await once(started, "message")) as [number];
    expect(startTimeOf(pid)).toBeDefined();
    started.kill("SIGKILL");
    await until("the child has ended", async () => startTimeOf(pid) === undefined);
  });
});

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}
