/** Whole frames of Zstandard and LZ4: the engine takes a file that breaks off in one for a file that ends there. */

export class BrokenFrameError extends Error {}

/** Bytes to pass over, and the number to look at after them. */
type Step = { readonly skip: number; readonly look: number; readonly isBetween?: boolean };

/** The bytes, unchanged. Throws BrokenFrameError instead of the last of them when a frame has no end. */
export async function* wholeFrames(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const walk = framesOf();
  let step = walk.next().value as Step;
  let { skip } = step;
  let seen = Buffer.alloc(0);
  let last: Buffer | undefined;
  for await (const chunk of compressed) {
    for (let at = 0; at < chunk.length; ) {
      const passed = Math.min(skip, chunk.length - at);
      skip -= passed;
      const looked = chunk.subarray(at + passed, at + passed + step.look - seen.length);
      seen = Buffer.concat([seen, looked]);
      at += passed + looked.length;
      if (skip > 0 || seen.length < step.look) continue;
      step = walk.next(seen).value as Step;
      ({ skip } = step);
      seen = Buffer.alloc(0);
    }
    if (last !== undefined) yield last;
    last = chunk;
  }
  const isWhole = step.isBetween === true && skip === 0 && seen.length === 0;
  if (!isWhole) throw new BrokenFrameError("The compressed data of the object breaks off or is damaged.");
  if (last !== undefined) yield last;
}

/** Other bytes are left to the engine, which refuses them. */
function* framesOf(): Generator<Step, Step, Buffer> {
  for (let tail = 0; ; ) {
    const magic = (yield { skip: tail, look: 4, isBetween: true }).readUInt32LE();
    if (magic === 0xfd2fb528) tail = yield* zstdFrame();
    else if (magic === 0x184d2204) tail = yield* lz4Frame();
    else if (magic >>> 4 === 0x184d2a5) tail = (yield { skip: 0, look: 4 }).readUInt32LE();
    else while (true) yield { skip: 0, look: 1, isBetween: true };
  }
}

/** Returns the bytes after what it has looked at. */
function* zstdFrame(): Generator<Step, number, Buffer> {
  const flags = (yield { skip: 0, look: 1 }).readUInt8();
  const isSingle = (flags & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][flags & 3] as number;
  const size = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6] as number;
  for (let skip = (isSingle ? 0 : 1) + dictionary + size; ; ) {
    const block = (yield { skip, look: 3 }).readUIntLE(0, 3);
    // A block of type 1 is one byte, repeated.
    skip = ((block >> 1) & 3) === 1 ? 1 : block >> 3;
    if ((block & 1) === 1) return skip + (flags & 4);
  }
}

function* lz4Frame(): Generator<Step, number, Buffer> {
  const flags = (yield { skip: 0, look: 1 }).readUInt8();
  const has = (flag: number) => (flags & flag) !== 0;
  for (let skip = 2 + (has(8) ? 8 : 0) + (has(1) ? 4 : 0); ; ) {
    const block = (yield { skip, look: 4 }).readUInt32LE();
    if (block === 0) return has(4) ? 4 : 0;
    // The first bit says that it is not compressed.
    skip = (block & 0x7fffffff) + (has(0x10) ? 4 : 0);
  }
}
