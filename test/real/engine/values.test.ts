/** INSERT ... VALUES: long data is taken as short data is. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => await stage.close());

describe("VALUES of any size", () => {
  const row = "(1, '5', 1e3, '1.5', 2, [1, 0], 0x1F, '2025-07-15 14:30:45'::DateTime64(3), upper('x'))";
  const rowsOf = (bytes: number) => Array.from({ length: Math.ceil(bytes / row.length) }, () => row);
  beforeEach(async () => {
    await stage.ok(
      "CREATE OR REPLACE TABLE v (b Bool, i Int32, j Int32, d Decimal(9, 2), e Enum8('x' = 1, 'y' = 2), l Array(Bool), h UInt8, t DateTime64(3), s String) ENGINE = MergeTree ORDER BY i",
    );
  });
  afterEach(async () => void (await stage.ok("DROP TABLE v")));
  const seen = () => stage.ok("SELECT count(), any((b, i, j, d, e, l, h, t, s)) FROM v");

  test.each([
    ["in the body", 100_000, {}],
    ["above one mebibyte", 3_000_000, {}],
    ["above one mebibyte, behind a head in the URL", 1_500_000, { query: "INSERT INTO v VALUES" }],
  ])("takes the same literals: %s", async (_, bytes, parameters: Record<string, string>) => {
    const rows = rowsOf(bytes);
    const data = rows.join(",");
    await stage.ok("query" in parameters ? data : `INSERT INTO v VALUES ${data}`, parameters);
    expect(await seen()).toBe(`${rows.length}\t(true,5,1000,1.5,'y',[true,false],31,'2025-07-15 14:30:45.000','X')`);
  });

  test.each([
    ["a query", "((SELECT 1), 1, 1, 1, 1, [], 1, 0, '')"],
    ["a file", "(1, 1, 1, 1, 1, [], 1, 0, file('/etc/hosts'))"],
    ["a comment", "(1, 1, 1, 1, 1, [], 1, 0, '') /* , */"],
  ])("but not %s far behind", async (_, odd) => {
    const answer = await stage.query(`INSERT INTO v VALUES ${rowsOf(2_000_000).join(",")}, ${odd}`);
    expect(answer.text).toMatch(/^Code: 344\..*about \d{7} bytes/);
    expect(await stage.ok("SELECT countIf(s != 'X') FROM v")).toBe("0");
  });
});
