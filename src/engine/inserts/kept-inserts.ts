/**
 * The log of inserts that are answered before their rows are in the table (`wait_for_async_insert=0`): each is durable
 * before its answer, and what an engine that died has not inserted is found at the next start. It has the form of the
 * inbox of pushed rows: one sync for all that wait.
 */
import { mkdir, readdir } from "node:fs/promises";
import { Log, type Segment } from "../../sources/push/inbox/log.ts";
import { framesOf, segmentsIn } from "../../sources/push/inbox/segments.ts";
import type { InsertStatement } from "./engine-insert.ts";
import type { Piece } from "./joinable-data.ts";
import type { InsertOptions } from "./options.ts";

export type KeptInsert = {
  readonly statement: InsertStatement;
  readonly options: InsertOptions;
  readonly piece: Piece;
};

/** Larger segments are not continued. */
const segmentBytes = 16 * 2 ** 20;
/** Segments without an insert that is still needed are kept up to this size. */
const keptBytes = 1_048_576;
const done = "done";

export class KeptInserts {
  readonly #folder: string;
  readonly #log: Log;
  /** In the order of their offsets, with those that an earlier process has left. */
  readonly #needed: Map<number, KeptInsert | undefined>;
  #cutting: Promise<void> | undefined;
  #isThere: boolean;

  private constructor(folder: string, found: Found) {
    this.#folder = folder;
    this.#needed = found.needed;
    this.#isThere = found.isThere;
    this.#log = new Log({ folder, end: found.end, segments: found.segments, segmentBytes }, (entries) => {
      for (const { entry, offset } of entries) if (entry.facts.g !== done) this.#needed.set(offset, undefined);
    });
  }

  static async open(folder: string): Promise<KeptInserts> {
    return new KeptInserts(folder, await find(folder));
  }

  /** What an earlier process has left, by offset. */
  get left(): ReadonlyMap<number, KeptInsert> {
    return new Map([...this.#needed].filter((entry): entry is [number, KeptInsert] => entry[1] !== undefined));
  }

  /** Resolves with its offset when it is durable. Rejects with what the system says of the disk. */
  async append({ statement, options, piece }: KeptInsert): Promise<number> {
    if (!this.#isThere) {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      this.#isThere = true;
    }
    const facts = Buffer.from(`${JSON.stringify({ statement, options, rows: piece.rows, shape: piece.shape })}\n`);
    return await this.#log.append({ facts: { n: 1, t: Date.now() }, body: [facts, piece.data] });
  }

  /** These are in the table, or never will be. */
  async settled(offsets: readonly number[]): Promise<void> {
    const body = [Buffer.from(JSON.stringify(offsets))];
    for (const offset of offsets) this.#needed.delete(offset);
    await this.#log.append({ facts: { n: 1, t: Date.now(), g: done }, body });
    this.#cutting ??= this.#cut().finally(() => {
      this.#cutting = undefined;
    });
    await this.#cutting;
  }

  async #cut(): Promise<void> {
    const bytes = this.#log.segments.reduce((sum, segment) => sum + segment.bytes, 0);
    if (this.#needed.size === 0 && bytes > keptBytes) await this.#log.roll();
    const [first = this.#log.end] = this.#needed.keys();
    await this.#log.cut(first);
  }
}

type Found = {
  readonly isThere: boolean;
  readonly end: number;
  readonly segments: Segment[];
  readonly needed: Map<number, KeptInsert | undefined>;
};

async function find(folder: string): Promise<Found> {
  const isThere = await readdir(folder).then(
    () => true,
    () => false,
  );
  const segments: Segment[] = [];
  const needed = new Map<number, KeptInsert | undefined>();
  let end = 0;
  for (const { first, path } of isThere ? await segmentsIn(folder) : []) {
    let bytes = 0;
    end = Math.max(end, first);
    for await (const { frame } of framesOf(path)) {
      bytes += frame.bytes;
      end = frame.facts.o + 1;
      if (frame.facts.g === done) {
        for (const offset of JSON.parse(frame.body.toString()) as number[]) needed.delete(offset);
      } else needed.set(frame.facts.o, readInsert(frame.body));
    }
    segments.push({ first, path, bytes });
  }
  return { isThere, end, segments, needed };
}

function readInsert(body: Buffer): KeptInsert {
  const at = body.indexOf("\n");
  const { statement, options, ...facts } = JSON.parse(body.toString("utf8", 0, at)) as Omit<KeptInsert, "piece"> &
    Omit<Piece, "data">;
  return { statement, options, piece: { data: Buffer.from(body.subarray(at + 1)), ...facts } };
}
