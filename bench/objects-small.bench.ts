/** Many small files: the cost of tracking each of them. */
import { query } from "../harness/serve.ts";
import { type BenchResult, type Cost, costRow, cpuUsOf, medianCost, round } from "./bench.ts";
import { startObjectsBench, timeEngine, timePipe } from "./objects.ts";

export const description =
  "10,000 files of 1-2 KB: files/s of a pipe against one glob INSERT SELECT of an engine without the address policy";

const files = 10_000;
const rowsPerFile = 30;
/** In turns: one run of them swings by a tenth. */
const rounds = 3;

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
  const { bare, served, service } = bench;
  const work = { format: "JSONEachRow", pattern: "data/*.json", rows: files * rowsPerFile };
  const alone = { ...work, pid: bare.pid, ask: (sql: string) => bare.client.text(sql) };
  const own = { ...work, pid: served.process.pid, ask: (sql: string) => query(service, sql) };
  const plains: Cost[] = [];
  const engines: Cost[] = [];
  const pipes: Cost[] = [];
  for (let i = 0; i < rounds; i += 1) {
    plains.push(await timeEngine(bench, alone));
    engines.push(await timeEngine(bench, own));
    pipes.push(await timePipe(bench, work.pattern, work.rows));
  }
  const [plain, engine, pipe] = [medianCost(plains), medianCost(engines), medianCost(pipes)];
  return {
    rows: [
      costRow("engine without the address policy: one glob", [plain], files, "files"),
      costRow("engine of a service: one glob", [engine], files, "files"),
      costRow("pipe, every file tracked", [pipe], files, "files"),
    ],
    summary: {
      ...{
        ratio: round(plain.seconds / pipe.seconds, 3),
        policyRatio: round(plain.seconds / engine.seconds, 3),
        files,
      },
      ...{ bareSeconds: round(plain.seconds), engineSeconds: round(engine.seconds), pipeSeconds: round(pipe.seconds) },
      ...{ bareCpuUs: cpuUsOf([plain], files), engineCpuUs: cpuUsOf([engine], files) },
      pipeCpuUs: cpuUsOf([pipe], files),
    },
  };
}
