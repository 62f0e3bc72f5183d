import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BufferPool, ChunkBuilder, chunkBytes } from "../snapshot/chunks.ts";
import { FrameSplitter } from "./copy-frames.ts";

type ReplicationMessage = { readonly code: string; readonly body: Buffer };

function wire({ code, body }: ReplicationMessage): Buffer {
  const header = Buffer.alloc(5);
  header.write(code, "latin1");
  header.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}

const row = (text: string) => ({ code: "d", body: Buffer.from(text) });
const message = (code: string, text = "") => ({ code, body: Buffer.from(text) });

/** What becomes of the bytes when they arrive in these chunks. */
function split(chunks: readonly Buffer[]) {
  const others: Buffer[] = [];
  const splitter = new FrameSplitter((bytes) => others.push(Buffer.from(bytes)));
  const pieces = new ChunkBuilder(new BufferPool(1));
  splitter.sink = pieces;
  for (const chunk of chunks) {
    // Its owner may write over a chunk once it was taken.
    const owned = Buffer.from(chunk);
    splitter.push(owned);
    owned.fill(0xee);
  }
  return { rows: pieces.rows, data: Buffer.concat(pieces.take()), others: Buffer.concat(others) };
}

function expected(messages: readonly ReplicationMessage[]) {
  const rows = messages.filter(({ code }) => code === "d");
  const others = messages.filter(({ code }) => code !== "d");
  return {
    rows: rows.length,
    data: Buffer.concat(rows.map(({ body }) => body)),
    others: Buffer.concat(others.map(wire)),
  };
}

const copy = [
  message("H", "\0\0\x02\0\0\0\0"),
  row("1\tone\n"),
  row("\n"),
  message("N", "SNOTICE\0\0"),
  row(`2\t${"long ".repeat(60)}\n`),
  row(""),
  message("S", "TimeZone\0UTC\0"),
  row("ddd\tdd\n"),
  message("c"),
  message("C", "COPY 5\0"),
  message("Z", "I"),
];

describe("FrameSplitter", () => {
  test("rows go to the sink and all else to the parser, in one chunk and cut at any byte", () => {
    const bytes = Buffer.concat(copy.map(wire));
    const wanted = expected(copy);
    expect(split([bytes])).toEqual(wanted);
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(split([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).toEqual(wanted);
    }
    expect(split(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(wanted);
  });

  test("any messages in any chunks", () => {
    const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    const any = fc.record({ code: fc.constantFrom("d", "d", "d", "N", "S", "c", "E", "Z"), body });
    const cuts = fc.array(fc.nat({ max: 400 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 30 }), cuts, (messages, sizes) => {
        const bytes = Buffer.concat(messages.map(wire));
        const chunks: Buffer[] = [];
        for (let at = 0, index = 0; at < bytes.length; index += 1) {
          const size = (sizes[index % sizes.length] as number) + 1;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(split(chunks)).toEqual(expected(messages));
      }),
      { numRuns: 500 },
    );
  });

  test("without a sink CopyData is the parser's, as of a replication stream", () => {
    const others: Buffer[] = [];
    const splitter = new FrameSplitter((bytes) => others.push(bytes));
    const bytes = Buffer.concat(copy.map(wire));
    splitter.push(bytes.subarray(0, 40));
    splitter.push(bytes.subarray(40));
    expect(Buffer.concat(others)).toEqual(bytes);
  });

  test("a length that no message has is an error", () => {
    for (const length of [0, 3]) {
      for (const code of ["d", "N"]) {
        const bytes = wire(message(code));
        bytes.writeUInt32BE(length, 1);
        expect(() => split([bytes])).toThrow(`a message of ${length} bytes`);
        expect(() => split(Array.from(bytes, (byte) => Buffer.from([byte])))).toThrow(`a message of ${length} bytes`);
      }
    }
    const huge = wire(row("x"));
    huge.writeUInt32BE(0xffffffff, 1);
    expect(() => split([huge])).toThrow("a row of 4294967291 bytes");
  });
});

describe("ChunkBuilder", () => {
  test("cuts between rows, and gives a row that is too long a piece of its own", () => {
    const pieces = new ChunkBuilder(new BufferPool(1, 10));
    for (const text of ["12345\n", "789\n", "x\n", "longer than ten\n", "y\n"]) {
      const bytes = Buffer.from(text);
      pieces.begin(bytes.length);
      pieces.add(bytes, 0, 1);
      pieces.add(bytes, 1, bytes.length);
    }
    expect(pieces.take().map(String)).toEqual(["12345\n789\n", "x\n", "longer than ten\n", "y\n"]);
    expect([pieces.rows, pieces.bytes]).toEqual([5, 30]);
  });

  test("a buffer is used again only once it was given back", () => {
    const buffers = new BufferPool(1);
    const fill = (text: string) => {
      const pieces = new ChunkBuilder(buffers);
      pieces.begin(text.length);
      pieces.add(Buffer.from(text), 0, text.length);
      return pieces.take()[0] as Buffer;
    };
    const first = fill("first");
    const second = fill("second");
    expect([first, second].map(String)).toEqual(["first", "second"]);
    buffers.release(first);
    buffers.release(second);
    expect(fill("third").buffer).toBe(first.buffer);
    expect(String(fill("fourth"))).toBe("fourth");
    expect(String(second)).toBe("second");
    buffers.close();
    buffers.release(second);
    expect(fill("fifth").buffer).not.toBe(second.buffer);
  });

  test("full pieces go to who takes them, the rest stays", async () => {
    const given: string[] = [];
    let room: () => void = () => {};
    const pieces = new ChunkBuilder(new BufferPool(1, 4), (full) => {
      given.push(...full.map(String));
      return new Promise((resolve) => {
        room = resolve;
      });
    });
    const row = (text: string) => {
      pieces.begin(text.length);
      pieces.add(Buffer.from(text), 0, text.length);
    };
    row("ab\n");
    expect(pieces.full()).toBeUndefined();
    row("cd\n");
    row("ef\n");
    const wait = pieces.full();
    expect(given).toEqual(["ab\n", "cd\n"]);
    room();
    await wait;
    expect(pieces.full()).toBeUndefined();
    expect(pieces.take().map(String)).toEqual(["ef\n"]);
  });

  test("so many pieces as a worker holds fit into its memory", () => {
    for (const [memoryGb, pieces] of [
      [0.5, 7],
      [1, 7],
      [1, 35],
      [8, 100],
    ] as const) {
      expect(chunkBytes(memoryGb, pieces) * pieces).toBeLessThanOrEqual(336 * 2 ** 20 * memoryGb);
    }
    expect(chunkBytes(8, 7)).toBe(48 * 2 ** 20);
  });

  test("an empty copy has no piece", () => {
    expect(new ChunkBuilder(new BufferPool(1)).take()).toEqual([]);
  });
});
