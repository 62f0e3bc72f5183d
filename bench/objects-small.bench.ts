/** Many small files: the cost of tracking each of them. */
import type { BenchResult } from "./bench.ts";
import { inTurns, resultOf, startObjectsBench } from "./objects.ts";

export const description =
  "10,000 files of 1-2 KB: files/s of a pipe against one glob INSERT SELECT of an engine without the address policy";

const files = 10_000;
const rowsPerFile = 30;
const turns = 3;

export async function run(): Promise<BenchResult> {
  await using bench = await startObjectsBench();
  const file = (index: number) =>
    Array.from({ length: rowsPerFile }, (_, i) => {
      const id = index * rowsPerFile + i;
      return JSON.stringify({ id, name: `a name of row ${id}` });
    }).join("\n");
  const put = async (from: number) => {
    for (let at = from; at < files; at += 16)
      await bench.store.put(`data/${String(at).padStart(5, "0")}.json`, file(at));
  };
  await Promise.all(Array.from({ length: 16 }, (_, from) => put(from)));
  const work = { format: "JSONEachRow", pattern: "data/*.json", rows: files * rowsPerFile };
  const { summary, ...result } = resultOf(await inTurns(bench, work, turns), files, "files");
  return { ...result, summary: { ...summary, files } };
}
