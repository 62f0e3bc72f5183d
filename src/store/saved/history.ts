/**
 * Numbers of services and pipes over time: one file of fixed size per object, with a ring of 5 second samples for an
 * hour and a ring of means per minute for a week. Beside the metadata database: samples wait for no write of it.
 * A record that was not written, or was overwritten by a later round, is a gap. Nothing is synced: a power failure may
 * lose the last seconds, the end of the process does not.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

/** Seconds of one sample. */
export const sampleSeconds = 5;
const minuteSeconds = 60;
/** Seconds that are kept of the samples, and of the means per minute. */
export const keptSeconds = { samples: 3_600, minutes: 7 * 86_400 } as const;

const perMinute = minuteSeconds / sampleSeconds;
const sampleSlots = keptSeconds.samples / sampleSeconds;
const minuteSlots = keptSeconds.minutes / minuteSeconds;
/** A record is the second at which it begins and up to 15 numbers, each of 4 bytes; NaN: unknown. */
const recordBytes = 64;
const maxSeries = recordBytes / 4 - 1;
const minutesAt = sampleSlots * recordBytes;

/** Size of one object's file, which never grows. */
export const historyFileBytes = (sampleSlots + minuteSlots) * recordBytes;

/** Unknown numbers are absent. */
export type HistoryValues<Name extends string> = { readonly [N in Name]?: number | undefined };

export type HistoryRange = {
  /** In seconds since 1970, a multiple of `step`. */
  readonly from: number;
  readonly step: number;
  readonly points: number;
};

/** A value per point of the range: the mean of what is known; null: nothing is. */
export type HistorySeries<Name extends string> = Record<Name, (number | null)[]>;

export class HistoryStore<Name extends string> {
  readonly #dir: string;
  readonly #names: readonly Name[];
  readonly #files = new Map<string, number>();
  readonly #minute = Buffer.alloc(perMinute * recordBytes);

  /** The place of a name is its place in the files: new names go to the end, and none is ever removed. */
  constructor(dir: string, names: readonly Name[]) {
    if (names.length > maxSeries) throw new Error(`a record holds ${maxSeries} numbers`);
    this.#dir = dir;
    this.#names = names;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** Records one sample of the object, which replaces an earlier one of the same 5 seconds. */
  add(id: string, atMs: number, values: HistoryValues<Name>): void {
    const file = this.#open(id);
    const second = Math.floor(atMs / 1000);
    const begin = second - (second % sampleSeconds);
    writeSync(
      file,
      recordOf(
        begin,
        this.#names.map((name) => values[name] ?? Number.NaN),
      ),
      0,
      recordBytes,
      offsetOf(begin, sampleSeconds),
    );
    const minute = second - (second % minuteSeconds);
    readSync(file, this.#minute, 0, this.#minute.length, offsetOf(minute, sampleSeconds));
    const known = Array.from({ length: perMinute }, (_, i) => i * recordBytes).filter((at) => {
      const stamp = this.#minute.readUInt32LE(at);
      return stamp >= minute && stamp < minute + minuteSeconds;
    });
    const means = this.#names.map((_, series) =>
      meanOf(known.map((at) => this.#minute.readFloatLE(at + 4 + series * 4))),
    );
    writeSync(file, recordOf(minute, means), 0, recordBytes, offsetOf(minute, minuteSeconds));
  }

  /** Steps under a minute are answered from the samples, others from the means. An unknown object has only gaps. */
  read(id: string, { from, step, points }: HistoryRange): HistorySeries<Name> {
    const every = step < minuteSeconds ? sampleSeconds : minuteSeconds;
    const ring = this.#has(id) ? readRing(this.#open(id), every) : undefined;
    const perStep = Math.max(1, step / every);
    const series = this.#names.map((name, index) => {
      const at = (begin: number) => (ring === undefined ? Number.NaN : valueAt(ring, begin, every, index));
      const values = Array.from({ length: points }, (_, point) => {
        const begin = from + point * step;
        const mean = meanOf(Array.from({ length: perStep }, (_, i) => at(begin + i * every)));
        return Number.isNaN(mean) ? null : Number(mean.toPrecision(6));
      });
      return [name, values] as const;
    });
    return Object.fromEntries(series) as HistorySeries<Name>;
  }

  /** Removes the histories of all other objects. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of readdirSync(this.#dir)) {
      if (ids.has(id)) continue;
      this.#close(id);
      rmSync(join(this.#dir, id), { force: true });
    }
  }

  close(): void {
    for (const id of [...this.#files.keys()]) this.#close(id);
  }

  #has(id: string): boolean {
    return this.#files.has(id) || existsSync(join(this.#dir, id));
  }

  #open(id: string): number {
    const known = this.#files.get(id);
    if (known !== undefined) return known;
    const file = openSync(join(this.#dir, id), constants.O_RDWR | constants.O_CREAT, 0o600);
    // Sparse: what was never written takes no disk.
    if (fstatSync(file).size !== historyFileBytes) ftruncateSync(file, historyFileBytes);
    this.#files.set(id, file);
    return file;
  }

  #close(id: string): void {
    const file = this.#files.get(id);
    if (file !== undefined) closeSync(file);
    this.#files.delete(id);
  }
}

function offsetOf(begin: number, every: number): number {
  const slots = every === sampleSeconds ? sampleSlots : minuteSlots;
  return (every === sampleSeconds ? 0 : minutesAt) + (Math.floor(begin / every) % slots) * recordBytes;
}

function recordOf(begin: number, values: readonly number[]): Buffer {
  const record = Buffer.alloc(recordBytes);
  record.writeUInt32LE(begin, 0);
  for (const [i, value] of values.entries()) record.writeFloatLE(value, 4 + i * 4);
  // Numbers of names that come later are unknown here, not 0.
  for (let i = values.length; i < maxSeries; i += 1) record.writeFloatLE(Number.NaN, 4 + i * 4);
  return record;
}

function readRing(file: number, every: number): Buffer {
  const ring = Buffer.alloc((every === sampleSeconds ? sampleSlots : minuteSlots) * recordBytes);
  readSync(file, ring, 0, ring.length, every === sampleSeconds ? 0 : minutesAt);
  return ring;
}

/** NaN when the slot holds another time. */
function valueAt(ring: Buffer, begin: number, every: number, series: number): number {
  const at = offsetOf(begin, every) - (every === sampleSeconds ? 0 : minutesAt);
  return ring.readUInt32LE(at) === begin ? ring.readFloatLE(at + 4 + series * 4) : Number.NaN;
}

/** The mean of the numbers that are known; NaN when none is. */
function meanOf(values: readonly number[]): number {
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return sum / count;
}
