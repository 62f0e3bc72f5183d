/** A Docker daemon with its own socket and folder, and without a bridge and firewall rules. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../harness/serve.ts";

export type Docker = AsyncDisposable & {
  /** Output of a command. Throws with what it wrote when it fails or takes too long. */
  run(args: readonly string[], options?: { input?: string; seconds?: number }): Promise<string>;
};

/** Starts containerd and dockerd below the folder, which is removed at the end. Needs root. */
export async function startDocker(folder: string): Promise<Docker> {
  const at = (name: string) => join(folder, name);
  writeFileSync(
    at("containerd.toml"),
    `version = 2
root = "${at("containerd")}"
state = "${at("containerd-state")}"
oom_score = 0
[grpc]
  address = "${at("containerd.sock")}"
`,
  );
  const containerd = started("containerd", ["-c", at("containerd.toml")], at("containerd.log"));
  const host = `unix://${at("docker.sock")}`;
  const flags = ["--bridge=none", "--iptables=false", "--oom-score-adjust=0", "--storage-driver=overlay2"];
  const paths = ["--data-root", at("docker"), "--exec-root", at("exec"), "--pidfile", at("dockerd.pid"), "-H", host];
  const dockerd = started("dockerd", ["--containerd", at("containerd.sock"), ...flags, ...paths], at("dockerd.log"));
  const run: Docker["run"] = async (args, { input, seconds = 60 } = {}) =>
    await new Promise((resolve, reject) => {
      const options = { timeout: seconds * 1000, maxBuffer: 2 ** 26 };
      const child = execFile("/usr/bin/docker", ["-H", host, ...args], options, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout.trim());
        reject(new Error(`docker ${args[0]}: ${`${stdout}${stderr}`.slice(-4_000) || error.message}`));
      });
      child.stdin?.end(input);
    });
  const stop = async () => {
    for (const child of [dockerd, containerd]) await ended(child);
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await until("the Docker daemon answers", async () => {
      if (dockerd.exitCode !== null)
        throw new Error(`dockerd: ${readFileSync(at("dockerd.log"), "utf8").slice(-2_000)}`);
      return await run(["version"]).then(
        () => true,
        () => false,
      );
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { run, [Symbol.asyncDispose]: stop };
}

/** The daemon leaves its network namespace mounted. */
function unmountBelow(folder: string): void {
  const points = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "");
  const below = points.filter((point) => point.startsWith(`${folder}/`)).reverse();
  for (const point of below) execFileSync("umount", [point]);
}

function started(program: string, args: readonly string[], log: string): ChildProcess {
  const output = openSync(log, "a");
  return spawn(program, args, { stdio: ["ignore", output, output] });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const killer = setTimeout(() => child.kill("SIGKILL"), 30_000);
  await exited;
  clearTimeout(killer);
}
