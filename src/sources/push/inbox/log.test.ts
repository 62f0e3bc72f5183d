import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Log } from "./log.ts";
import { framesOf } from "./segments.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-log-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["small bodies", 10],
  ["groups of several MB, in more pieces than one system call takes,", 2_000],
])("%s are read back in their order", async (_, length) => {
  const log = new Log({ folder, segments: [], end: 0, segmentBytes: 2 ** 30 }, () => {});
  const bodies = Array.from({ length: 1_200 }, (_, nth) => Buffer.alloc(length, String(nth)));
  const append = (body: Buffer) => log.append({ facts: { n: 1, t: 0 }, body: [body] });
  // The first is written alone, and all others wait for it.
  await Promise.all(bodies.map(append));
  await Promise.all(bodies.map(append));
  await log.close();
  const read: Buffer[] = [];
  const offsets: number[] = [];
  for await (const { frame } of framesOf(log.segments[0]?.path ?? "")) {
    read.push(Buffer.from(frame.body));
    offsets.push(frame.facts.o);
  }
  expect(offsets).toEqual(Array.from({ length: 2_400 }, (_, nth) => nth));
  expect(Buffer.concat(read).equals(Buffer.concat([...bodies, ...bodies]))).toBe(true);
});
