/**
 * Before and after a run of the tests: they get a temporary folder of their own, in which nothing may be left at the
 * end, and of which no process may be left. A run that leaves something fails, with the names of what it has left.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

let outer: string | undefined;

export function setup(): void {
  // A path of more than 100 characters or so is too long for a socket.
  outer = process.env.TMPDIR;
  process.env.TMPDIR = mkdtempSync(join(tmpdir(), "mr-test-"));
  // Programs that refuse to run as root run as another user, and pass through this folder to reach their own.
  chmodSync(process.env.TMPDIR, 0o711);
}

export function teardown(): void {
  const folder = tmpdir();
  if (outer === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = outer;
  const left = [...readdirSync(folder).map((name) => `${folder}/${name}`), ...processesOf(folder)];
  rmSync(folder, { recursive: true, force: true });
  if (left.length > 0) throw new Error(`The tests have left behind:\n${left.join("\n")}`);
}

/** Processes that were started with this folder in their arguments or their environment, on Linux. */
function processesOf(folder: string): string[] {
  if (process.platform !== "linux") return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.flatMap((pid) => {
    const [line, environment] = [read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/environ`)];
    const isOurs = `${line}\0${environment}`.includes(folder) && !line.includes("vitest");
    return isOurs ? [`process ${pid}: ${line.replaceAll("\0", " ").slice(0, 200)}`] : [];
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // The process has ended, or belongs to somebody else.
    return "";
  }
}
