/** What a command costs to start: processor time against bare Node, beside other command lines that are installed. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "../harness/serve.ts";
import { packageRoot } from "../src/lib/program.ts";
import { type BenchResult, median, round } from "./bench.ts";

export const description = "processor time of commands against `node -e 0`";

const rounds = 9;
const bin = join(packageRoot, "bin", "millrace.cjs");
/** Command lines of other programs, measured where they are installed. */
const peers = [
  ["gh", "--version"],
  ["kubectl", "version", "--client"],
  ["docker", "--version"],
  ["npm", "--version"],
  ["git", "--version"],
] as const;

type Run = readonly [name: string, command: readonly string[]];

export async function run(): Promise<BenchResult> {
  await using served = await serve();
  const home = mkdtempSync(join(tmpdir(), "millrace-bench-cli-"));
  const { baseUrl, keyId, keySecret } = served.credentials;
  const env = { PATH: process.env.PATH, HOME: home, MILLRACE_URL: baseUrl, MILLRACE_KEY: `${keyId}:${keySecret}` };
  const own = (...args: string[]) => [process.execPath, bin, ...args];
  const runs: Run[] = [
    ["node -e 0", [process.execPath, "-e", "0"]],
    ["millrace --version", own("--version")],
    ["millrace --help", own("--help")],
    ["millrace complete -- pipe get x", own("complete", "--", "pipe", "get", "x")],
    ["millrace pipe list", own("pipe", "list")],
    ...peers.filter(isInstalled).map((command): Run => [command.join(" "), command]),
  ];
  try {
    const rows: Record<string, string | number>[] = [];
    for (const [name, command] of runs) {
      // The first run fills the cache of compiled code.
      await processorSeconds(command, env);
      const samples = [];
      for (let i = 0; i < rounds; i += 1) samples.push(await processorSeconds(command, env));
      const cpu = median(samples.map((sample) => sample.cpu));
      const wall = median(samples.map((sample) => sample.wall));
      rows.push({ command: name, "cpu s": round(cpu, 3), "wall s": round(wall, 3) });
    }
    const cpuOf = (name: string) => Number(rows.find(({ command }) => command === name)?.["cpu s"] ?? Number.NaN);
    return {
      rows,
      summary: {
        ratio: round(cpuOf("millrace pipe list") / cpuOf("node -e 0")),
        versionCpu: cpuOf("millrace --version"),
        completionCpu: cpuOf("millrace complete -- pipe get x"),
        pipeListCpu: cpuOf("millrace pipe list"),
      },
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function isInstalled([program]: readonly string[]): boolean {
  return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}

/** User and system time of one run, as the shell counts them. */
async function processorSeconds(
  command: readonly string[],
  env: Record<string, string | undefined>,
): Promise<{ cpu: number; wall: number }> {
  const script = `TIMEFORMAT='%U %S %R'; time "$@" > /dev/null 2> /dev/null`;
  const child = spawn("bash", ["-c", script, "bash", ...command], { env, stdio: ["ignore", "ignore", "pipe"] });
  const chunks: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => child.once("close", resolve));
  const [user = 0, system = 0, wall = 0] = Buffer.concat(chunks).toString().trim().split(" ").map(Number);
  return { cpu: user + system, wall };
}
