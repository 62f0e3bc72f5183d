/** Rows as they arrive from the engine, wherever the network cuts them, and whatever ends them. */
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Cell, PlanRow } from "../plan/cells.ts";
import { decodeRows, type RowDecoding } from "./row-decoding.ts";
import { batchesOf } from "./streaming.ts";

const decoding: RowDecoding = { kind: "rows", wrapped: undefined, numbers: [false], values: [], dropEmpty: false };
const read = (some: readonly (readonly Cell[])[]): PlanRow[] => decodeRows(decoding, some);
const rows: Cell[][] = [
  [1, 'a"\n,]'],
  [2, "é𝄞"],
  [3, null],
];
const text = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));

async function all(chunks: Iterable<Buffer>): Promise<PlanRow[]> {
  const found: PlanRow[] = [];
  for await (const batch of batchesOf(Readable.from(chunks, { objectMode: false }), { decoding, fromCaller: true })) {
    found.push(...batch);
  }
  return found;
}

test("rows are the same wherever the text is cut", async () => {
  for (let size = 1; size <= text.length; size += 1) {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => {
      return text.subarray(i * size, (i + 1) * size);
    });
    expect(await all(chunks)).toEqual(read(rows));
  }
  expect(await all([])).toEqual([]);
});

test("an answer that ends within a row, in an error, or with its connection is an error", async () => {
  const brokenOff = { code: "QUERY_FAILED", message: "the engine's response ended early" };
  await expect(all([text, Buffer.from("[4, ")])).rejects.toMatchObject(brokenOff);
  await expect(all([text, Buffer.from("Code: 241. DB::Exception: memory\n")])).rejects.toMatchObject(brokenOff);
  const lost = Readable.from(
    (function* () {
      yield text;
      throw new Error("ECONNRESET");
    })(),
  );
  const batches = batchesOf(lost, { decoding, fromCaller: true });
  expect((await batches.next()).value).toEqual(read(rows));
  await expect(batches.next()).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
});
