/** A nearly full disk: inserts are refused with the reason, everything else still works. */
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { query, runningService, serve } from "../../harness/serve.ts";

const freeGb = () => {
  const { bavail, bsize } = statfsSync(tmpdir());
  return (bavail * bsize) / 2 ** 30;
};

test("below the watermark a service refuses inserts, and answers queries and the API", async () => {
  await using served = await serve({ keepData: true });
  const service = await runningService(served);
  await query(service, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a");
  await query(service, "INSERT INTO t VALUES (1)");
  await served[Symbol.asyncDispose]();
  const env = { MILLRACE_MIN_FREE_DISK_GB: String(Math.ceil(freeGb() + 100)) };
  await using full = await serve({ dataDir: served.dataDir, env });
  await expect(query(service, "INSERT INTO t VALUES (2)")).rejects.toThrow(/Code: 243.*NOT_ENOUGH_SPACE/s);
  const lower = "INSERT INTO t SETTINGS min_free_disk_bytes_to_perform_insert = 0 VALUES (2)";
  await expect(query(service, lower)).rejects.toThrow(/Code: 452/);
  await expect(query(service, "SELECT count() FROM t")).resolves.toBe("1");
  await expect(query(service, "TRUNCATE TABLE t")).resolves.toBe("");
  await full.api.updateService({ params: service.params, body: { name: "renamed" } });
  expect((await full.api.getService({ params: service.params })).name).toBe("renamed");
});
