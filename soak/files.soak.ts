/**
 * Damaged files of Parquet, Arrow, ORC and Avro, read by confined engines with the statement of a pipe. Each is loaded
 * or refused with a reason, and an engine that dies of one starts again. `SEED` repeats a run, `COUNT` is the number of
 * files of each format, `SECONDS` bounds each format.
 */
import { numberOf, seedOf } from "../harness/bounds.ts";
import { damageFiles } from "../harness/objects/damage-run.ts";
import { fileFormats } from "../harness/objects/damaged-files.ts";

export const description = "damaged files of four formats: each is loaded or refused, or its engine starts again";

const seed = seedOf();
const count = numberOf("COUNT", 10_000);
const seconds = numberOf("SECONDS", 900);

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} COUNT=${count} SECONDS=${seconds}`);
  const totals = { files: 0, loaded: 0, refused: 0, retried: 0, died: 0, peakMb: 0 };
  for (const format of fileFormats) {
    const began = Date.now();
    const found = await damageFiles({ format, seed, count, until: began + seconds * 1_000 });
    console.log(JSON.stringify({ format, ...found, seconds: Math.round((Date.now() - began) / 1_000) }));
    totals.files += found.files;
    totals.loaded += found.loaded;
    totals.refused += found.refused;
    totals.died += found.died;
    totals.retried += Object.keys(found.retried).length;
    totals.peakMb = Math.max(totals.peakMb, found.peakMb);
  }
  return { seed, ...totals };
}
