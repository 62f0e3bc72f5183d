/** The peer of the gateway benchmark: one chDB session with nothing around it. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Session } from "chdb";

const dir = process.argv[2] as string;
mkdirSync(dir, { recursive: true });
const fifo = join(dir, "pipe");
execFileSync("mkfifo", ["-m", "600", fifo]);
const spool = join(dir, "spool");
let held = Buffer.alloc(0);
const session = new Session(join(dir, "data"), { connectionArgs: ["--max_memory_usage=4000000000"] });

type Work = { sql: string; pipe?: string; buffer?: string; hold?: string; insert?: string };

process.on("message", async ({ sql, pipe, buffer, hold, insert }: Work) => {
  if (hold !== undefined) held = readFileSync(hold);
  const start = performance.now();
  try {
    // Data that stands behind a statement is cut at a blank line, so a file is the way into a session.
    if (insert !== undefined) {
      writeFileSync(spool, held);
      await session.queryAsync(`${sql} FROM INFILE '${spool}' FORMAT ${insert}`);
      return process.send?.({ ms: performance.now() - start });
    }
    if (pipe === undefined) await session.queryAsync(sql, { format: buffer ?? "TabSeparated" });
    else {
      const reader = spawn("cat", [fifo], { stdio: ["ignore", "ignore", "inherit"] });
      const read = once(reader, "exit");
      await session.queryAsync(`${sql} INTO OUTFILE '${fifo}' APPEND FORMAT ${pipe}`);
      await read;
    }
    process.send?.({ ms: performance.now() - start });
  } catch (error) {
    process.send?.({ ms: 0, error: String(error) });
  }
});
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.send?.({ ms: 0 });
