/**
 * `millrace top` on a terminal of 80 x 24 for a limited time, before a server with many pipes: its memory stays
 * bounded, it survives a server that is gone for a while and a change of the terminal's size, and `q` ends it.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { numberOf } from "../harness/bounds.ts";
import { limits } from "../harness/limits.ts";
import { requireTool } from "../harness/missing.ts";
import { freePort } from "../harness/network/free-port.ts";
import { Relay } from "../harness/network/relay.ts";
import { serve, until } from "../harness/serve.ts";
import type { FirstCredentials } from "../src/api/first-credentials.ts";
import { residentBytes } from "../src/lib/process.ts";
import { mainFile } from "../src/lib/program.ts";
import { openStoresOf } from "../src/store/open.ts";

export const description = "the live table runs with bounded memory, through an absence of the server and a resize";

const seconds = numberOf("SECONDS", 60);
const pipes = numberOf("COUNT", 300);
const maxGrowthBytes = 30e6;
/** Without them the heap grows to what the machine has, whatever the program keeps. */
const heap = "--max-semi-space-size=2 --max-old-space-size=64";

export async function run(): Promise<Record<string, string | number>> {
  requireTool(missingTool());
  const dataDir = await seeded();
  await using served = await serve({ dataDir });
  using relay = await Relay.start(Number(new URL(served.credentials.baseUrl).port));
  const folder = mkdtempSync(join(tmpdir(), "millrace-top-"));
  try {
    await using top = await startTop(served.credentials, relay.port, folder);
    return await observe(top, relay);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A data folder with many pipes of a stopped service: none of them runs. */
async function seeded(): Promise<string> {
  const served = await serve();
  const { organizationId } = served.credentials;
  const { service } = await served.api.createService({ params: { organizationId }, body: { name: "many" } });
  const params = { organizationId, serviceId: service.id };
  await served.api.updateServiceState({ params, body: { command: "stop" } });
  await until("the service is stopped", async () => (await served.api.getService({ params })).state === "stopped");
  await served.stop();
  const stores = await openStoresOf({ dataDir: served.dataDir, secretKey: undefined });
  try {
    for (let i = 0; i < pipes; i += 1) {
      const name = `pipe-${i}`;
      const owner = { serviceId: service.id, name, sourceKind: "objectStorage", roles: [], fieldMappings: [] };
      const source = { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json" } };
      const destination = { table: `events_${i}`, columns: [{ name: "a", type: "UInt8" }] };
      const rest = { secrets: {}, scaling: {}, settings: {} };
      await stores.pipes.create({ ...owner, source, destination, ...rest }, { ...limits.pipes, most: pipes });
    }
  } finally {
    stores.close();
  }
  return served.dataDir;
}

function missingTool(): string | undefined {
  try {
    execFileSync("script", ["--version"]);
    return undefined;
  } catch {
    return "`script` of util-linux is not installed; it provides the terminal (apt-get install bsdutils).";
  }
}

type Top = AsyncDisposable & { readonly pid: number; press(keys: string): void; take(): string; ended(): boolean };

async function startTop(key: FirstCredentials, port: number, folder: string): Promise<Top> {
  const pidFile = join(folder, "pid");
  const command = `stty cols 80 rows 24; echo $$ > "${pidFile}"; exec "${process.execPath}" ${heap} "${mainFile}" top --interval 200ms`;
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    env: {
      ...{ PATH: process.env.PATH, HOME: folder, TERM: "xterm" },
      ...{ MILLRACE_URL: `http://127.0.0.1:${port}`, MILLRACE_KEY: `${key.keyId}:${key.keySecret}` },
    },
  });
  const exited = once(child, "exit");
  let shown = "";
  child.stdout.on("data", (chunk) => {
    shown += String(chunk);
  });
  // `script` runs the program in a session of its own, which outlives a `script` that is killed.
  const end = async () => {
    if (child.exitCode !== null) return;
    if (existsSync(pidFile)) kill(Number(readFileSync(pidFile, "utf8")));
    child.kill();
    await exited;
  };
  try {
    await until("the table is shown", async () => shown.includes("pipe-"));
  } catch (error) {
    await end();
    throw error;
  }
  return {
    pid: Number(readFileSync(pidFile, "utf8")),
    press: (keys) => void child.stdin.write(keys),
    take: () => {
      const taken = shown;
      shown = "";
      return taken;
    },
    ended: () => child.exitCode === 0,
    [Symbol.asyncDispose]: end,
  };
}

/** Ends a process that may have ended already. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function observe(top: Top, relay: Relay): Promise<Record<string, string | number>> {
  const memory: number[] = [];
  let redrawn = 0;
  let silent = 0;
  const terminal = readlinkSync(`/proc/${top.pid}/fd/0`);
  const dead = await freePort();
  for (let second = 0; second < seconds; second += 1) {
    const share = second / seconds;
    if (Math.floor(share * 10) === 4) await absence(top, relay, dead);
    if (second % 7 === 0) top.press("s");
    if (second % 20 === 10) execFileSync("stty", ["-F", terminal, "cols", "50", "rows", "12"]);
    if (second % 20 === 0) execFileSync("stty", ["-F", terminal, "cols", "80", "rows", "24"]);
    await delay(1_000);
    const taken = top.take();
    const screens = taken.split("\u001b[H").slice(1);
    silent = screens.length === 0 ? silent + 1 : 0;
    if (silent > 10) throw new Error(`nothing was redrawn for 10 s before second ${second}`);
    const tallest = Math.max(0, ...screens.map((screen) => screen.split("\r\n").length));
    if (tallest > 24) throw new Error(`a screen of 24 lines was given ${tallest}`);
    redrawn += screens.length;
    memory.push(residentBytes(top.pid) ?? 0);
  }
  // The heap grows to its working size at first: the middle third is compared with the last one.
  const third = Math.ceil(memory.length / 3);
  const begun = Math.max(...memory.slice(third, 2 * third));
  const end = Math.max(...memory.slice(2 * third));
  if (end - begun > maxGrowthBytes) throw new Error(`memory grew from ${begun} to ${end} bytes`);
  const cpu = cpuSeconds(top.pid);
  top.press("q");
  await until("q ends the program with exit code 0", async () => top.ended(), 10_000);
  const tenth = Math.ceil(memory.length / 10);
  const memoryMb = memory.filter((_, index) => index % tenth === 0 || index === memory.length - 1).map(mb);
  return { seconds, pipes, redrawn, memoryMb: memoryMb.join(" "), cpuShare: Number((cpu / seconds).toFixed(3)) };
}

/** The server is gone, which the screen says, and comes back. */
async function absence(top: Top, relay: Relay, dead: number): Promise<void> {
  const port = relay.target;
  relay.target = dead;
  relay.reset();
  let shown = "";
  const says = async (text: RegExp) => {
    shown += top.take();
    return text.test(shown);
  };
  await until("the absence is told", () => says(/no server answers/));
  relay.target = port;
  shown = "";
  await until("the table is back", () => says(/q quit/));
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const mb = (bytes: number) => Math.round(bytes / 1e6);
