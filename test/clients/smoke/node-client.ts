/** @clickhouse/client, unchanged. The address is in the environment. */
import { createClient } from "@clickhouse/client";

const url = `http://${process.env.CLICKHOUSE_HOST}:${process.env.CLICKHOUSE_PORT}`;
const password = process.env.CLICKHOUSE_PASSWORD ?? "";
const client = createClient({ url, password });

async function check(name: string, run: () => Promise<unknown>, expected: unknown): Promise<void> {
  try {
    const got = JSON.stringify(await run());
    const wanted = JSON.stringify(expected);
    console.log(got === wanted ? `ok ${name}` : `not ok ${name}: ${got}, not ${wanted}`);
  } catch (error) {
    console.log(`not ok ${name}: ${(error as Error).message.split("\n")[0]}`);
  }
}
const rowsOf = async (sql: string, more: object = {}) =>
  await (await client.query({ query: sql, format: "JSONEachRow", ...more })).json();

await check("ping", async () => (await client.ping()).success, true);
await check("ping with a query", async () => (await client.ping({ select: true })).success, true);
await check(
  "create",
  () => client.command({ query: "CREATE TABLE js (a UInt32, s String) ORDER BY a" }).then(() => 1),
  1,
);
const values = Array.from({ length: 1_000 }, (_, a) => ({ a, s: `row ${a};\n` }));
await check(
  "insert of objects",
  async () => {
    const { summary } = await client.insert({ table: "js", values, format: "JSONEachRow" });
    return summary?.written_rows;
  },
  "1000",
);
await check("select", () => rowsOf("SELECT a, s FROM js WHERE a = 7"), [{ a: 7, s: "row 7;\n" }]);
await check(
  "parameters",
  () => rowsOf("SELECT {list:Array(String)} AS l, {n:UInt8} AS n", { query_params: { list: ["it's", "\t"], n: 7 } }),
  [{ l: ["it's", "\t"], n: 7 }],
);
await check(
  "parameters in a form",
  () => rowsOf("SELECT {n:UInt8} AS n", { query_params: { n: 7 }, use_multipart_params: true }),
  [{ n: 7 }],
);
await check(
  "stream of a large result",
  async () => {
    let rows = 0;
    const result = await client.query({ query: "SELECT number FROM numbers(300000)", format: "JSONCompactEachRow" });
    for await (const batch of result.stream()) rows += batch.length;
    return rows;
  },
  300_000,
);
await check("session", async () => {
  const session = createClient({ url, password, session_id: "js" });
  await session.command({ query: "CREATE TEMPORARY TABLE tt (a Int8)" });
  await session.insert({ table: "tt", values: [[3]], format: "JSONCompactEachRow" });
  const rows = await (await session.query({ query: "SELECT a FROM tt", format: "JSONCompactEachRow" })).json();
  await session.close();
  return rows;
}, [[3]]);
await check(
  "error of a statement",
  () =>
    client.query({ query: "SELECT * FROM nothing" }).then(
      () => "no error",
      (error: { code?: string }) => error.code,
    ),
  "60",
);
await check("compression both ways", async () => {
  const packed = createClient({ url, password, compression: { request: true, response: true } });
  await packed.insert({ table: "js", values: [{ a: 5_000, s: "packed" }], format: "JSONEachRow" });
  const rows = await (await packed.query({ query: "SELECT s FROM js WHERE a = 5000", format: "JSONEachRow" })).json();
  await packed.close();
  return rows;
}, [{ s: "packed" }]);
await client.command({ query: "DROP TABLE IF EXISTS js" });
await client.close();
console.log("done");
