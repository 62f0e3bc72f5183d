import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { durable, MemorySource } from "../../harness/sources/memory-source.ts";
import { describeSource } from "../../harness/sources/source-contract.ts";
import { ClickHouseError } from "../../src/clickhouse/client.ts";
import type { Insert } from "../../src/sources/contract/source.ts";

async function rowsOf(insert: Insert): Promise<string[]> {
  const body = insert.body?.() ?? Buffer.alloc(0);
  const content = Buffer.isBuffer(body) ? body.toString() : await text(Readable.from(body));
  return content === "" ? [] : content.split("\n");
}

const lanes = new Map([
  ["p0", Array.from({ length: 7 }, (_, i) => `p0-${i}`)],
  ["p1", Array.from({ length: 4 }, (_, i) => `p1-${i}`)],
  ["p2", ["p2-0", "bad", "p2-2", "p2-3"]],
]);

/**
 * Each worker cuts its batches anew, like a source that cuts by time or memory: only saved intents keep the old
 * boundaries.
 */
let lives = 0;

describeSource("memory", () => ({
  durable,
  open: async () => {
    lives += 1;
    return new MemorySource(lanes, 1 + (lives % 4));
  },
  expected: [...lanes.values()].flat().filter((row) => row !== "bad"),
  skipped: 0,
  rowsOf,
  engineError: (rows) => (rows.includes("bad") ? new ClickHouseError(27, 400, "Code: 27. Cannot parse") : undefined),
  rejected: 1,
}));
