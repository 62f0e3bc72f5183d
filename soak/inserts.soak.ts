import { setTimeout as delay } from "node:timers/promises";
import { Ordeal, ofSeeds } from "../harness/push/ordeal.ts";
import { Dice } from "../harness/random.ts";
import { type BenchService, query, until } from "../harness/serve.ts";

export const description =
  "asynchronous inserts of one row, answered before and after they are visible, while server and engine are killed, the disk fills up and the service sleeps";

const clients = 6;
/** The rows of both tables: nobody waits for `kept`, and `waited` is never sent twice. */
const tables = { kept: "0", waited: "1" } as const;
type Table = keyof typeof tables;
type Sent = { readonly table: Table; readonly id: number; readonly isAnswered: boolean };

export async function run(): Promise<Record<string, string | number>> {
  return await ofSeeds(soak);
}

async function soak(seed: number): Promise<Record<string, number>> {
  await using ordeal = await Ordeal.begin(seed);
  const { service } = ordeal;
  for (const table of Object.keys(tables)) await query(service, `CREATE TABLE ${table} (id UInt64) ORDER BY id`);
  const sent: Sent[] = [];
  let next = 0;
  const sending = (Object.keys(tables) as Table[]).flatMap((table, kind) =>
    Array.from({ length: clients }, async (_, at) => {
      const dice = new Dice(seed * 1_000 + kind * clients + at);
      while (!ordeal.isOver) {
        await ordeal.mayGoOn();
        const id = next;
        next += 1;
        sent.push({ table, id, isAnswered: await inserted(service, table, id) });
        await delay(dice.next() * 20);
      }
    }),
  );
  await ordeal.endure();
  await Promise.all(sending);
  return { ...(await judge(seed, service, sent)), ...ordeal.counts };
}

/** True when the insert was answered as done. */
async function inserted({ host, port, password }: BenchService, table: Table, id: number): Promise<boolean> {
  const settings = `async_insert=1&wait_for_async_insert=${tables[table]}`;
  const sql = encodeURIComponent(`INSERT INTO ${table} FORMAT JSONEachRow`);
  try {
    const response = await fetch(`http://${host}:${port}/?query=${sql}&${settings}`, {
      method: "POST",
      body: JSON.stringify({ id }),
      headers: { "x-clickhouse-user": "default", "x-clickhouse-key": password },
      signal: AbortSignal.timeout(10_000),
    });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** What was answered is there, and what somebody waited for is there once. */
async function judge(seed: number, service: BenchService, sent: readonly Sent[]): Promise<Record<string, number>> {
  const counts = { rows: 0, unanswered: 0, doubled: 0 };
  for (const table of Object.keys(tables)) {
    const own = sent.filter((one) => one.table === table);
    const answered = own.filter(({ isAnswered }) => isAnswered).map(({ id }) => id);
    let [rows, lost] = [new Map<number, number>(), answered];
    // What nobody waited for may still be on its way.
    await until(`what was answered is in ${table}`, async () => {
      rows = await found(service, table).catch(() => rows);
      lost = lost.filter((id) => !rows.has(id));
      return lost.length === 0;
    }).catch(() => {
      throw new Error(`seed ${seed}: ${lost.length} rows of ${table} were answered and are lost, such as ${lost[0]}`);
    });
    const doubled = [...rows].filter(([, count]) => count > 1).map(([id]) => id);
    if (table === "waited" && doubled.length > 0) {
      throw new Error(
        `seed ${seed}: ${doubled.length} rows that were sent once are there again, such as ${doubled[0]}`,
      );
    }
    counts.rows += rows.size;
    counts.unanswered += own.length - answered.length;
    counts.doubled += doubled.length;
  }
  return counts;
}

async function found(service: BenchService, table: string): Promise<Map<number, number>> {
  const all = await query(service, `SELECT id, count() FROM ${table} GROUP BY id FORMAT TSV`);
  return new Map(all.split("\n").map((line) => line.split("\t").map(Number) as [number, number]));
}
