/** Reads the rows of an inbox by their offsets, from the files that the control plane writes. */
import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { RowForm } from "./bodies/rows.ts";
import { RowScanner } from "./bodies/rows.ts";
import type { Frame } from "./inbox/frames.ts";
import { framesOf, segmentsIn } from "./inbox/segments.ts";
import type { PushMessage } from "./message.ts";

const pieceBytes = 1_048_576;

/** Returns false to stop before the row. */
type Visit = (message: PushMessage) => boolean;

/** A position in a segment, and the offset of the row there. */
type Place = { readonly path: string; readonly segment: number; readonly at: number; readonly offset: number };

export class InboxReader {
  readonly #folder: string;
  readonly #form: RowForm;
  #place: Place | undefined;

  /** `form` is undefined where bodies are read whole. */
  constructor(folder: string, form: RowForm = { kind: "lines" }) {
    this.#folder = folder;
    this.#form = form;
  }

  /** Shows the rows `[from, end)` in order, as far as they are there. Nothing from `end` on is looked at. */
  async each(from: number, end: number, visit: Visit): Promise<void> {
    for await (const frame of this.frames(from, end)) {
      if (!(await this.#rowsOf(frame, from, end, visit))) return;
    }
  }

  /** The frames with rows in `[from, end)`. */
  async *frames(from: number, end: number): AsyncGenerator<Frame> {
    let place = await this.#find(from);
    while (place !== undefined) {
      const { path, segment, at: start } = place;
      for await (const { frame, at } of framesOf(path, start)) {
        const { o, n } = frame.facts;
        this.#place = { path, segment, at, offset: o };
        if (o >= end) return;
        if (o + n > from) yield frame;
        place = { path, segment, at: at + frame.bytes, offset: o + n };
        this.#place = place;
      }
      if (place.offset >= end) return;
      place = await this.#after(place);
    }
  }

  /** The bytes of a frame's body, in pieces. */
  async *piecesOf({ facts, body }: Frame): AsyncGenerator<Buffer> {
    if (facts.x === undefined) yield body;
    else yield* createReadStream(join(this.#folder, facts.x), { highWaterMark: pieceBytes });
  }

  async #rowsOf(frame: Frame, from: number, end: number, visit: Visit): Promise<boolean> {
    const { o, t, h = "" } = frame.facts;
    const scanner = new RowScanner(this.#form);
    let position = o;
    let carried: Buffer[] = [];
    for await (const piece of this.piecesOf(frame)) {
      let done = 0;
      for (let to = scanner.next(piece, 0); to >= 0; to = scanner.next(piece, to)) {
        done = to;
        const isWanted = position >= from;
        if (position >= end) return true;
        position += 1;
        const start = scanner.rowStart;
        const isCarried = start === 0 && carried.length > 0;
        const bytes = isCarried ? Buffer.concat([...carried, piece.subarray(0, to)]) : piece;
        carried = [];
        if (!isWanted) continue;
        const row = isCarried ? { bytes, start: 0, end: bytes.length - 1 } : { bytes, start, end: to - 1 };
        if (!visit({ ...row, position: position - 1, receivedAt: t, head: h })) return false;
      }
      if (done < piece.length) carried.push(piece.subarray(done));
    }
    return true;
  }

  async #find(offset: number): Promise<Place | undefined> {
    const segment = (await segmentsIn(this.#folder)).findLast(({ first }) => first <= offset);
    const place = this.#place;
    // A segment that is loaded completely may be gone.
    if (place !== undefined && place.segment === segment?.first && place.offset <= offset) return place;
    return segment && { path: segment.path, segment: segment.first, at: 0, offset: segment.first };
  }

  /** The beginning of the segment after this one. */
  async #after({ segment }: Place): Promise<Place | undefined> {
    const next = (await segmentsIn(this.#folder)).find(({ first }) => first > segment);
    return next && { path: next.path, segment: next.first, at: 0, offset: next.first };
  }
}
