import { expect, test } from "vitest";
import { readResult } from "./result-stream.ts";

/** What is read of a body that arrives in these pieces. */
async function read(pieces: readonly string[], mayGoOn = () => true) {
  const seen: unknown[] = [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  await readResult(body, {
    onColumns: (columns) => seen.push(columns),
    onRow: (row) => seen.push(row),
    onProgress: ({ readRows }) => seen.push(readRows),
    onException: (message) => seen.push(message),
    onBytes: mayGoOn,
  });
  return seen;
}

const meta = '{"meta":[{"name":"n","type":"UInt64"}]}';

test("lines are read whole, wherever the pieces end", async () => {
  const text = `{"progress":{"read_rows":"3"}}\n${meta}\n{"row":["18446744073709551615"]}\n{"exception":"Code: 1"}`;
  const expected = [3, [{ name: "n", type: "UInt64" }], ["18446744073709551615"], "Code: 1"];
  expect(await read([text])).toEqual(expected);
  expect(await read([...text])).toEqual(expected);
});

test("reading ends when it is told to", async () => {
  expect(await read([`${meta}\n{"row":["1"]}\n`, '{"row":["2"]}\n'], () => false)).toHaveLength(2);
});
