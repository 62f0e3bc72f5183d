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
