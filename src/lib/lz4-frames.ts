/**
 * Reads LZ4 frames, in chunks or whole, with the block function of the binding: its own frame function needs a whole
 * frame and eight times the time. Linked blocks, which the reference library writes by default, are read with their 64
 * KiB of history. Checksums are ignored, because the protocols that carry such frames here have their own.
 */
import { createRequire } from "node:module";

const magic = 0x184d2204;
const maxHistory = 65_536;
const uncompressedFlag = 0x80000000;
/** A byte of a block expands to at most this many. */
const maxExpansion = 255;

type FrameInfo = { linked: boolean; blockChecksum: boolean; contentChecksum: boolean; maxBlock: number };
type Binding = typeof import("lz4-napi");

let binding: Binding | undefined;

/** Reads one or more consecutive frames. */
export class Lz4FrameReader {
  #held: Buffer = Buffer.alloc(0);
  #frame: FrameInfo | undefined;
  readonly #history = new History();

  /** True when everything is read, up to the end of a frame. */
  get isDone(): boolean {
    return this.#frame === undefined && this.#held.length === 0;
  }

  /** The plain blocks that are complete now. Throws when the data is not an LZ4 frame. */
  *read(chunk: Buffer): Generator<Buffer> {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      if (this.#frame === undefined) {
        if (!this.#readHeader()) return;
        continue;
      }
      const step = this.#readBlock(this.#frame);
      if (step === undefined) return;
      if (step !== "end") yield step;
    }
  }

  #readHeader(): boolean {
    if (this.#held.length < 7) return false;
    if (this.#held.readUInt32LE(0) !== magic) throw new Error("not an LZ4 frame");
    const flags = this.#held[4] as number;
    const size = 7 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0);
    if (this.#held.length < size) return false;
    if (flags >> 6 !== 1 || flags & 0x01) throw new Error("unknown version or dictionary");
    this.#frame = {
      linked: (flags & 0x20) === 0,
      blockChecksum: (flags & 0x10) !== 0,
      contentChecksum: (flags & 0x04) !== 0,
      maxBlock: 1 << (8 + 2 * (((this.#held[5] as number) >> 4) & 0x07)),
    };
    this.#held = this.#held.subarray(size);
    return true;
  }

  /** Undefined while bytes are missing. */
  #readBlock(frame: FrameInfo): Buffer | "end" | undefined {
    if (this.#held.length < 4) return undefined;
    const word = this.#held.readUInt32LE(0);
    if (word === 0) return this.#readEnd(frame);
    const size = word & 0x7fffffff;
    const total = 4 + size + (frame.blockChecksum ? 4 : 0);
    if (size > frame.maxBlock) throw new Error("a block is too large");
    if (this.#held.length < total) return undefined;
    const data = this.#held.subarray(4, 4 + size);
    const plain = word & uncompressedFlag ? data : this.#unpack(data, frame);
    if (frame.linked) this.#history.add(plain);
    this.#held = this.#held.subarray(total);
    return plain;
  }

  #unpack(data: Buffer, frame: FrameInfo): Buffer {
    binding ??= createRequire(import.meta.url)("lz4-napi") as Binding;
    const prefixed = Buffer.allocUnsafe(4 + data.length);
    prefixed.writeUInt32LE(Math.min(frame.maxBlock, maxExpansion * data.length), 0);
    data.copy(prefixed, 4);
    const history = this.#history.bytes;
    return frame.linked && history.length > 0
      ? binding.uncompressSync(prefixed, history)
      : binding.uncompressSync(prefixed);
  }

  #readEnd(frame: FrameInfo): "end" | undefined {
    const size = 4 + (frame.contentChecksum ? 4 : 0);
    if (this.#held.length < size) return undefined;
    this.#held = this.#held.subarray(size);
    this.#frame = undefined;
    this.#history.clear();
    return "end";
  }
}

/** The last 64 KiB, in memory that is moved rarely: a frame may consist of millions of tiny blocks. */
class History {
  #memory: Buffer | undefined;
  #end = 0;

  get bytes(): Buffer {
    return this.#memory?.subarray(Math.max(0, this.#end - maxHistory), this.#end) ?? Buffer.alloc(0);
  }

  add(block: Buffer): void {
    this.#memory ??= Buffer.allocUnsafeSlow(8 * maxHistory);
    const added = block.subarray(-maxHistory);
    if (this.#end + added.length > this.#memory.length) {
      const kept = this.bytes;
      this.#memory.copyWithin(0, this.#end - kept.length, this.#end);
      this.#end = kept.length;
    }
    added.copy(this.#memory, this.#end);
    this.#end += added.length;
  }

  clear(): void {
    this.#end = 0;
  }
}

/** Decompresses whole frames. Throws when they are truncated or exceed `maxBytes`. */
export function unpackLz4Frames(data: Buffer, maxBytes: number): Buffer {
  const reader = new Lz4FrameReader();
  let first: Buffer | undefined;
  let all = Buffer.alloc(0);
  let bytes = 0;
  for (const block of reader.read(data)) {
    if (bytes + block.length > maxBytes) throw new Error("the frame is too large");
    if (bytes + block.length > all.length && first !== undefined) {
      const grown = Buffer.allocUnsafeSlow(Math.min(maxBytes, 2 * (bytes + block.length)));
      (all.length === 0 ? first : all).copy(grown, 0, 0, bytes);
      all = grown;
    }
    if (first === undefined) first = block;
    else block.copy(all, bytes);
    bytes += block.length;
  }
  if (!reader.isDone) throw new Error("the frame ends too early");
  // A block that is the only one needs no copy.
  return all.length === 0 ? (first ?? all) : all.subarray(0, bytes);
}
