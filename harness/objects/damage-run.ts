/** Reads many damaged files of one format, and counts what became of them. */
import { Dice } from "../random.ts";
import { damaged, type FileFormat, intactFiles } from "./damaged-files.ts";
import { FileReader } from "./file-reader.ts";

export type DamageOptions = {
  readonly format: FileFormat;
  readonly seed: number;
  readonly count: number;
  /** No file is read after this time. */
  readonly until: number;
};

export type DamageResult = {
  readonly files: number;
  readonly loaded: number;
  readonly refused: number;
  readonly died: number;
  readonly peakMb: number;
  /** Codes of the engine that a pipe would wait for, with the number of files and the first message. */
  readonly retried: Readonly<Record<string, string>>;
  /** How engines died, with the number of files and the first one's index. */
  readonly deaths: Readonly<Record<string, string>>;
};

/** Throws when an intact file is not loaded, and when a message has a path or a secret. */
export async function damageFiles({ format, seed, count, until }: DamageOptions): Promise<DamageResult> {
  await using reader = await FileReader.open();
  const intact = await intactFiles(reader.client, format);
  for (const file of intact) {
    const outcome = await reader.read(file, format);
    if (outcome.kind !== "loaded") throw new Error(`${format}: an intact file is ${JSON.stringify(outcome)}`);
  }
  const counts = { files: 0, loaded: 0, refused: 0, died: 0 };
  const retried = new Tally();
  const deaths = new Tally();
  let peak = 0;
  for (let index = 0; index < count && Date.now() < until; index += 1) {
    // Each file has a seed of its own, which repeats it alone.
    const dice = new Dice(seed + index * 7_919);
    const bytes = damaged(dice.pick(intact), intact, dice);
    const outcome = await reader.read(bytes, format).catch((error: Error) => {
      throw new Error(`${format} SEED=${seed} file ${index}: ${error.message}`, { cause: error });
    });
    counts.files += 1;
    if (outcome.kind === "died") {
      counts.died += 1;
      deaths.add(outcome.how, String(index));
    } else if (outcome.kind === "retried")
      retried.add(String(outcome.code), `${index}: ${outcome.message.slice(0, 300)}`);
    else counts[outcome.kind] += 1;
    if (index % 50 === 0) peak = Math.max(peak, reader.peakMemory());
  }
  return { ...counts, peakMb: Math.round(peak / 1e6), retried: retried.found, deaths: deaths.found };
}

class Tally {
  readonly #all = new Map<string, { count: number; readonly first: string }>();

  add(key: string, example: string): void {
    const entry = this.#all.get(key) ?? { count: 0, first: example };
    entry.count += 1;
    this.#all.set(key, entry);
  }

  get found(): Record<string, string> {
    return Object.fromEntries([...this.#all].map(([key, { count, first }]) => [key, `${count} (${first})`]));
  }
}
