/** An engine that cannot end a statement is recognised, and a slow one is left alone. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { fileColumns } from "../../../harness/objects/damaged-files.ts";
import { literal } from "../../clickhouse/sql.ts";
import { untilUnresponsive } from "./liveness.ts";

const endless = fileURLToPath(new URL("../../../test/real/engine/endless.parquet", import.meta.url));

test("a reader that loops over damaged bytes is told, and other statements are not", async () => {
  await using engine = await BareEngine.start();
  let told: string | undefined;
  void untilUnresponsive(engine.client, 1_000).then((sentence) => {
    told = sentence;
  });
  const settings = { max_execution_time: 1, function_sleep_max_microseconds_per_block: 60_000_000 };
  // It hears of its limit late, and without one it may take any time.
  const late = engine.client.text("SELECT sleepEachRow(0.5) FROM numbers(4)", { settings });
  await expect(late).rejects.toThrow("TIMEOUT_EXCEEDED");
  await engine.client.text("SELECT sleep(3)", { settings: { ...settings, max_execution_time: 0 } });
  expect(told).toBeUndefined();
  const file = join(engine.dir, "endless.parquet");
  copyFileSync(endless, file);
  const structure = fileColumns.map(({ name, type }) => `\`${name}\` ${type}`).join(", ");
  const sql = `SELECT * FROM file(${literal(file)}, 'Parquet', ${literal(structure)}) FORMAT Null`;
  engine.client.text(sql, { settings }).catch(() => {});
  await expect.poll(() => told, { timeout: 60_000 }).toBe("the engine cannot end a statement that reads damaged data");
}, 120_000);
