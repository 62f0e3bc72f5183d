/** The process of `BareEngine` in `postgres.ts`: one chDB session without anything else, which times statements. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Session } from "chdb";

const dir = process.argv[2] as string;
mkdirSync(dir, { recursive: true });
const session = new Session(join(dir, "data"), { connectionArgs: ["--max_memory_usage=4000000000"] });

process.on("message", async ({ sql }: { sql: string }) => {
  const start = performance.now();
  try {
    await session.queryAsync(sql, { format: "TabSeparated" });
    process.send?.({ ms: performance.now() - start });
  } catch (error) {
    process.send?.({ ms: 0, error: String(error) });
  }
});
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.send?.({ ms: 0 });
