/** Large files: rows per second of a pipe against the engine's own insert of the same files, alternating. */
import { type BenchResult, median, round } from "./bench.ts";
import { expectRows, startObjectsBench, timeEngine, timePipe, writeFiles } from "./objects.ts";

const rounds = 3;

export async function bulk(format: string, suffix: string, files: number, rowsPerFile: number): Promise<BenchResult> {
  await using bench = await startObjectsBench();
  await writeFiles(bench, format, suffix, files, rowsPerFile);
  const rows = files * rowsPerFile;
  const pattern = `data/*.${suffix}`;
  const pipe: number[] = [];
  const engine: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    engine.push(await timeEngine(bench, pattern, format, `engine_${round}`));
    await expectRows(bench, `engine_${round}`, rows);
    pipe.push(await timePipe(bench, pattern, `pipe_${round}`));
    await expectRows(bench, `pipe_${round}`, rows);
  }
  const table = [
    {
      what: "engine: INSERT SELECT FROM s3",
      seconds: round(median(engine)),
      rowsPerSecond: Math.round(rows / median(engine)),
    },
    {
      what: "pipe, from create to Completed",
      seconds: round(median(pipe)),
      rowsPerSecond: Math.round(rows / median(pipe)),
    },
  ];
  const ratio = round(median(engine) / median(pipe), 3);
  return {
    rows: table,
    summary: { ratio, rows, files, engineSeconds: round(median(engine)), pipeSeconds: round(median(pipe)) },
  };
}
