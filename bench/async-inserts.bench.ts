import autocannon from "autocannon";
import { type BenchService, query, runningService, serve } from "../harness/serve.ts";
import { type BenchResult, costOf, round } from "./bench.ts";

export const description =
  "INSERT statements of one row of 300 bytes with async_insert=1, answered before and after the rows are visible, against those at once";

const seconds = 6;

type Load = {
  readonly rowsPerSecond: number;
  readonly cpuMs: number;
  readonly partsPerSecond: number;
};

export async function run(): Promise<BenchResult> {
  await using served = await serve();
  const service = await runningService(served, { idleScaling: false });
  const pid = served.process.pid as number;
  // A table for each: the last requests of a load may be answered after its end.
  const measured = async (connections: number, settings: string) =>
    await load(service, pid, { connections, settings, table: `ones_${connections}_${settings.length}` });
  const loads = {
    "at once": await measured(64, "async_insert=0"),
    "answered when durable": await measured(64, "async_insert=1&wait_for_async_insert=0"),
    "answered when visible, 1,000 clients": await measured(1_000, "async_insert=1"),
  };
  const { "at once": alone, "answered when durable": durable, "answered when visible, 1,000 clients": visible } = loads;
  return {
    rows: Object.entries(loads).map(([inserts, { rowsPerSecond, cpuMs, partsPerSecond }]) => ({
      inserts,
      "rows/s": Math.round(rowsPerSecond),
      "CPU ms/row": round(cpuMs, 3),
      "parts/s": round(partsPerSecond),
    })),
    summary: {
      rowsPerSecond: Math.round(durable.rowsPerSecond),
      cpuRatio: round(alone.cpuMs / durable.cpuMs),
      cpuRatioVisible: round(alone.cpuMs / visible.cpuMs),
      partsPerSecond: round(Math.max(durable.partsPerSecond, visible.partsPerSecond)),
    },
  };
}

type Work = { readonly connections: number; readonly settings: string; readonly table: string };

async function load(service: BenchService, pid: number, { connections, settings, table }: Work): Promise<Load> {
  await query(service, `CREATE TABLE ${table} (id UInt64, name String, padding String) ORDER BY id`);
  const sql = encodeURIComponent(`INSERT INTO ${table} FORMAT JSONEachRow`);
  let accepted = 0;
  const cost = await costOf(
    async () => {
      const result = await autocannon({
        url: `http://${service.host}:${service.port}/?query=${sql}&${settings}`,
        ...{ connections, duration: seconds, method: "POST" },
        body: JSON.stringify({ id: 1, name: "name 1", padding: "x".repeat(260) }),
        headers: { "x-clickhouse-user": "default", "x-clickhouse-key": service.password },
      });
      if (result.non2xx > 0) throw new Error(`${result.non2xx} inserts failed`);
      accepted = result["2xx"];
      await query(service, "SYSTEM FLUSH ASYNC INSERT QUEUE");
    },
    { pid },
  );
  const count = Number(await query(service, `SELECT count() FROM ${table}`));
  // The last request of each connection is not counted.
  if (count < accepted || count > accepted + connections) throw new Error(`${count} rows for ${accepted} answers`);
  const parts = Number(await query(service, `SELECT max(max_block_number) FROM system.parts WHERE table = '${table}'`));
  return {
    rowsPerSecond: accepted / seconds,
    cpuMs: (cost.cpuSeconds * 1_000) / count,
    partsPerSecond: parts / cost.seconds,
  };
}
