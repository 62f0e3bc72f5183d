/** The files of an inbox: segments, named by the offset of their first row. Large bodies have a file beside them. */
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Frame, frameBytes, readFrame } from "./frames.ts";

const name = /^(\d{16})\.rows$/;
/** Bytes that are read at once. */
const pieceBytes = 1_048_576;

export type SegmentFile = { readonly first: number; readonly path: string };

export function segmentPath(folder: string, first: number): string {
  return join(folder, `${String(first).padStart(16, "0")}.rows`);
}

/** In the order of their offsets. */
export async function segmentsIn(folder: string): Promise<SegmentFile[]> {
  const found = (await readdir(folder)).flatMap((file) => name.exec(file)?.[1] ?? []);
  return found.sort().map((digits) => ({ first: Number(digits), path: segmentPath(folder, Number(digits)) }));
}

/** A frame and where it begins in its segment. */
export type PlacedFrame = { readonly frame: Frame; readonly at: number };

/** The complete frames of a segment from a position on, in order; ends at the first that is not complete. */
export async function* framesOf(path: string, from = 0): AsyncGenerator<PlacedFrame> {
  await using file = await open(path, "r");
  let start = from;
  let held = Buffer.alloc(0);
  for (;;) {
    const wanted = Math.max(pieceBytes, frameBytes(held));
    const piece = Buffer.allocUnsafe(held.length + wanted);
    held.copy(piece);
    const { bytesRead } = await file.read(piece, held.length, wanted, start + held.length);
    const bytes = piece.subarray(0, held.length + bytesRead);
    let at = 0;
    for (let frame = readFrame(bytes, at); frame !== undefined; frame = readFrame(bytes, at)) {
      yield { frame, at: start + at };
      at += frame.bytes;
    }
    if (bytesRead === 0) return;
    held = bytes.subarray(at);
    start += at;
  }
}

/** Makes the names in a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}
