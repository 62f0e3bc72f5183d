/** Many small files: the cost of tracking each of them. */
import { type BenchResult, round } from "./bench.ts";
import { expectRows, startObjectsBench, timeEngine, timePipe } from "./objects.ts";

export const description = "10,000 files of 1-2 KB: files/s of a pipe against one glob INSERT SELECT (ratio >= 0.5)";

const files = 10_000;
const rowsPerFile = 30;

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
  const engine = await timeEngine(bench, "data/*.json", "JSONEachRow", "engine_small");
  await expectRows(bench, "engine_small", files * rowsPerFile);
  const pipe = await timePipe(bench, "data/*.json", "pipe_small");
  await expectRows(bench, "pipe_small", files * rowsPerFile);
  const table = [
    { what: "engine: one glob", seconds: round(engine), filesPerSecond: Math.round(files / engine) },
    { what: "pipe, every file tracked", seconds: round(pipe), filesPerSecond: Math.round(files / pipe) },
  ];
  return {
    rows: table,
    summary: { ratio: round(engine / pipe, 3), files, engineSeconds: round(engine), pipeSeconds: round(pipe) },
  };
}
