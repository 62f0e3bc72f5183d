/** Refused lines of objects are replayed with the facts of their object. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore;

beforeAll(async () => {
  [served, store] = await Promise.all([serve(), startFauxqs()]);
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

const sql = (statement: string) => query(service, statement);
const fields = [
  ["id", "id"],
  ["amount", "amount"],
  ["file", "_file"],
  ["size", "_size"],
] as const;
const columnsOf = (amount: string) => [
  { name: "id", type: "UInt64" },
  { name: "amount", type: amount },
  { name: "file", type: "String" },
  { name: "size", type: "UInt64" },
];
const fieldMappings = fields.map(([destinationField, sourceField]) => ({ sourceField, destinationField }));

async function load(pattern: string, table: string) {
  const body = pipeBody(store, pattern, table, {
    destination: { columns: columnsOf("UInt64") },
    body: { fieldMappings },
  });
  const pipeId = await createPipe(served, service, body);
  await untilState(served, service, pipeId, "Completed");
  return { ...service.params, pipeId };
}

async function replayAfterFix(params: Awaited<ReturnType<typeof load>>, table: string) {
  await sql(`ALTER TABLE ${table} MODIFY COLUMN amount String`);
  await served.api.updatePipe({ params, body: { destination: { columns: columnsOf("String") }, fieldMappings } });
  const { id } = await served.api.replayPipeErrors({ params, body: { from: "2020-01-01T00:00:00Z" } });
  return await until("the request has ended", async () => {
    const request = (await served.api.listPipeErrorRequests({ params })).find((one) => one.id === id);
    if (request?.state === "failed") throw new Error(request.reason);
    return request?.state === "done" ? request : undefined;
  });
}

describe("refused lines of objects", () => {
  test.each([
    ["CSVWithNames", "lines.csv", 'id,amount\n1,"10"\n2,"20 EUR"\n3,30\n4,x\n'],
    ["TabSeparatedWithNames", "lines.tsv", "id\tamount\n1\t10\n2\t20 EUR\n3\t30\n4\tx\n"],
    [
      "JSONEachRow",
      "lines.json",
      '{"id":1,"amount":"10"}\n{"id":2,"amount":"20 EUR"}\n{"id":3,"amount":30}\n{"id":4,"amount":"x"}\n',
    ],
  ])("of %s land once", async (format, key, content) => {
    const table = `again_${format}`;
    await store.put(`${format}/${key}`, content);
    const params = await load(`${format}/*`, table);
    expect(await sql(`SELECT count() FROM ${table}`)).toBe("2");
    expect(await replayAfterFix(params, table)).toMatchObject({ selectedRows: 2, replayedRows: 2, refusedRows: 0 });
    expect(await sql(`SELECT * FROM ${table} ORDER BY id FORMAT TSV`)).toBe(
      [
        [1, "10"],
        [2, "20 EUR"],
        [3, "30"],
        [4, "x"],
      ]
        .map(([id, amount]) => [id, amount, key, Buffer.byteLength(content)].join("\t"))
        .join("\n"),
    );
  });

  test("of a reading that is started over with an empty table are those of the new reading", async () => {
    await store.put("over/lines.json", '{"id":1,"amount":"x"}\n{"id":2,"amount":"20"}\n');
    const params = await load("over/*", "again_over");
    await served.api.updatePipeState({ params, body: { command: "resync", rows: "truncate" } });
    await untilState(served, service, params.pipeId, "Completed");
    expect((await served.api.listPipeErrorRows({ params })).rows).toMatchObject([{ replayable: true }]);
    expect(await replayAfterFix(params, "again_over")).toMatchObject({ selectedRows: 1, replayedRows: 1 });
    expect(await sql("SELECT count(), uniqExact(id) FROM again_over")).toBe("2\t2");
  });

  const long = "x".repeat(200_000);
  test.each([
    ["CSVWithNames", "long.csv", `id,amount\n1,1\n2,${long}\n3,3\n`],
    ["TabSeparatedWithNames", "long.tsv", `id\tamount\n1\t1\n2\t${long}\n3\t3\n`],
    ["JSONEachRow", "long.json", `{"id":1,"amount":1}\n{"id":2,"amount":"${long}"}\n{"id":3,"amount":3}\n`],
  ])("of %s with a value of any length do not hold up the others", async (format, key, content) => {
    await store.put(`long/${key}`, content);
    const params = await load(`long/${key}`, `long_${format}`);
    expect(await sql(`SELECT count() FROM long_${format}`)).toBe("2");
    const { rows } = await served.api.listPipeErrorRows({ params });
    expect(rows).toMatchObject([{ replayable: false, position: "row 2" }]);
    expect(rows[0]?.rawSizeBytes).toBeGreaterThan(200_000);
    expect(rows[0]?.message.length).toBeLessThan(2_000);
  });

  test("of a file whose rows span lines are kept, but cannot be replayed", async () => {
    await store.put("span/a.csv", 'id,amount,note\n1,10,"two\nlines"\n2,x,"b"\n3,30,c\n');
    const params = await load("span/*", "again_span");
    const { rows } = await served.api.listPipeErrorRows({ params });
    expect(rows).toMatchObject([{ replayable: false, position: "row 2" }]);
    expect(await replayAfterFix(params, "again_span")).toMatchObject({ selectedRows: 1, replayedRows: 0 });
    expect(await sql("SELECT count() FROM again_span")).toBe("2");
  });
});
