/**
 * `npm run test:image`: builds the image of the Dockerfile and runs it as `compose.yaml` does, with a Docker daemon of
 * its own and a base image made here, because no registry is asked. Needs root, debootstrap and docker.io; takes some
 * minutes.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { MissingTool, requireTool } from "../../harness/missing.ts";
import { until } from "../../harness/serve.ts";
import { root } from "../../scripts/house.ts";
import { baseArchive, baseChanges } from "./base.ts";
import { composedRun } from "./compose.ts";
import { type Docker, startDocker } from "./daemon.ts";

const cache = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "image");
const image = "millrace-test";
const container = "millrace";

function missing(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "The image is tested on Linux by root.";
  const absent = ["debootstrap", "dockerd", "containerd"].filter((tool) => {
    try {
      execFileSync(tool, ["--version"], { stdio: "ignore" });
      return false;
    } catch {
      return true;
    }
  });
  return absent.length === 0
    ? undefined
    : `${absent.join(", ")}: not installed (apt-get install debootstrap docker.io, which has dockerd and containerd).`;
}

async function testImage(): Promise<void> {
  requireTool(missing());
  mkdirSync(cache, { recursive: true });
  const archive = await step("base image", () => baseArchive(cache));
  await using docker = await startDocker(mkdtempSync(join(tmpdir(), "millrace-image-")));
  const changes = baseChanges.flatMap((change) => ["--change", change]);
  await step("import", () => docker.run(["import", ...changes, archive, "node:24-bookworm-slim"], { seconds: 180 }));
  await step("build", () => docker.run(["build", "--network", "host", "-t", image, root], { seconds: 1_500 }));
  const bytes = Number(await docker.run(["image", "inspect", "-f", "{{.Size}}", image]));
  const baseBytes = Number(await docker.run(["image", "inspect", "-f", "{{.Size}}", "node:24-bookworm-slim"]));
  console.log(`the image adds ${Math.round((bytes - baseBytes) / 1e6)} MB to its base`);
  const { flags, command } = composedRun();
  await docker.run(["run", "--detach", "--name", container, "--network", "none", ...flags, image, ...command]);
  try {
    await step("healthy", () => healthy(docker));
    await step("another user, read-only root", () => checkUser(docker));
    await step("a service answers", () => checkService(docker));
    await step("SIGTERM ends it in order", () => checkStop(docker));
    await step("a second start finds the data", () => checkRestart(docker));
  } catch (error) {
    console.error(await docker.run(["logs", "--tail", "40", container]));
    throw error;
  } finally {
    await docker.run(["rm", "--force", container]);
  }
}

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  console.log(`ok  ${what}  ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return result;
}

const inside = (docker: Docker, ...args: string[]) => docker.run(["exec", container, ...args], { seconds: 120 });
const millrace = (docker: Docker, ...args: string[]) => inside(docker, "node", "dist/main.js", ...args);

/** The image's own health check says so. */
async function healthy(docker: Docker): Promise<void> {
  await until("the container is healthy", async () => {
    return (await docker.run(["inspect", "-f", "{{.State.Health.Status}}", container])) === "healthy";
  });
}

async function checkUser(docker: Docker): Promise<void> {
  const user = await inside(docker, "id", "-u");
  if (user !== "10001") throw new Error(`the program runs as user ${user}`);
  const refused = await inside(docker, "touch", "/opt/millrace/new").then(
    () => undefined,
    (error: Error) => error.message,
  );
  if (!/Read-only file system/.test(refused ?? "")) throw new Error(`the root can be written: ${refused}`);
}

async function checkService(docker: Docker): Promise<void> {
  await millrace(docker, "service", "create", "first", "--wait", "--timeout", "90s", "-o", "id");
  await millrace(docker, "sql", "first", "CREATE TABLE t ORDER BY a AS SELECT number AS a FROM numbers(1000)");
  await checkRows(docker);
}

async function checkRows(docker: Docker): Promise<void> {
  const rows = await millrace(docker, "sql", "first", "SELECT count() FROM t", "--format", "TSV");
  if (rows !== "1000") throw new Error(`the table has ${rows} rows instead of 1000`);
}

async function checkStop(docker: Docker): Promise<void> {
  await docker.run(["stop", "--time", "30", container], { seconds: 60 });
  const code = await docker.run(["inspect", "-f", "{{.State.ExitCode}}", container]);
  if (code !== "0") throw new Error(`the program ended with exit code ${code}`);
}

async function checkRestart(docker: Docker): Promise<void> {
  await docker.run(["start", container]);
  await healthy(docker);
  await checkRows(docker);
}

try {
  await testImage();
} catch (error) {
  console.error(error instanceof MissingTool ? error.message : error);
  process.exitCode = 1;
}
