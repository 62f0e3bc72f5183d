import { expect, test } from "vitest";
import { BareEngine } from "../../harness/engine/bare-engine.ts";
import { clickHouseCodes } from "./error-codes.ts";

test("every name is the engine's own for its code", async () => {
  await using engine = await BareEngine.start();
  const codes = Object.values(clickHouseCodes);
  const sql = `SELECT arrayJoin([${codes.join(", ")}]) AS code, errorCodeToName(code) AS name`;
  const named = await engine.client.rows<{ code: number; name: string }>(sql);
  expect(Object.fromEntries(named.map(({ code, name }) => [name, Number(code)]))).toEqual(clickHouseCodes);
});

test("a server that does not know a setting that only saves work does the work without it", async () => {
  await using engine = await BareEngine.start();
  const unknown = { saves_work_in_a_later_version: 1 };
  const settings = { max_threads: 3 };
  expect(await engine.client.text("SELECT getSetting('max_threads')", { settings, tuning: unknown })).toBe("3\n");
  await expect(engine.client.text("SELECT 1", { settings: unknown })).rejects.toThrow("UNKNOWN_SETTING");
});
