/** Definitions of destinations: tried with the engine when they are sent, at create and in changes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, details, pipeBody, rows, untilRows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore;

beforeAll(async () => {
  [served, store] = await Promise.all([serve(), startFauxqs()]);
  service = await runningService(served, { idleScaling: false });
  await store.put("d/000.json", rows(0, 10));
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

type Refusal = { readonly status: number; readonly code: string; readonly message: string };
const refusal = async (work: Promise<unknown>) => {
  const { status, code, message } = (await work.then(
    () => ({ status: 200, code: "", message: "it was not refused" }),
    (error: Refusal) => error,
  )) as Refusal;
  return `${status} ${code} ${message}`;
};
const columns = [
  { name: "id", type: "UInt64" },
  { name: "name", type: "String" },
];
const extra = { name: "extra", type: "Nullable(Int64)" };
const mappings = (...names: string[]) => names.map((name) => ({ sourceField: name, destinationField: name }));
const patch = (pipeId: string, list: readonly { name: string; type: string }[]) =>
  served.api.updatePipe({
    params: { ...service.params, pipeId },
    body: { destination: { columns: [...list] }, fieldMappings: mappings(...list.map(({ name }) => name)) },
  });
const live = { source: { isContinuous: true }, body: { settings: { object_storage_polling_interval_ms: 100 } } };

test("what the engine would refuse is refused when it is sent, with the member, and nothing is created", async () => {
  const create = (table: string, destination: object) =>
    refusal(createPipe(served, service, pipeBody(store, "d/*.json", table, { destination })));
  const misspelt = [columns[0], { name: "name", type: "Strin" }];
  expect(await create("a", { columns: misspelt })).toMatch(
    /^400 DESTINATION_INVALID .*destination.columns.1.type: Unknown data type family: Strin/,
  );
  const nullable = [columns[0], { name: "name", type: "Nullable(String)" }];
  const tableDefinition = { sortingKey: ["name"] };
  expect(await create("a", { columns: nullable, tableDefinition })).toMatch(
    /^400 DESTINATION_INVALID .*destination.tableDefinition.sortingKey: /,
  );
  await query(service, "CREATE TABLE own (id UInt64, name String) ENGINE = MergeTree ORDER BY id");
  const own = { managedTable: false, tableDefinition: undefined };
  expect(await create("own", { ...own, columns: misspelt })).toContain("destination.columns.1.type: ");
  expect(await query(service, "SELECT name FROM system.tables WHERE database = 'default'")).toBe("own");
  expect(await served.api.listPipes({ params: service.params })).toEqual([]);
});

test("a new column alters the managed table of a running pipe, and no row is lost or doubled", async () => {
  await store.put("grow/000.json", rows(0, 10));
  const id = await createPipe(served, service, pipeBody(store, "grow/*.json", "grow", live));
  await untilRows(served, service, "grow", 10);
  const wrong = [...columns, { ...extra, type: "Flaot64" }];
  expect(await refusal(patch(id, wrong))).toContain("destination.columns.2.type: ");
  const other = [columns[0] as (typeof columns)[0], { name: "name", type: "FixedString(9)" }];
  expect(await refusal(patch(id, other))).toContain("MODIFY COLUMN `name` FixedString(9)");
  await patch(id, [...columns, extra]);
  await store.put("grow/001.json", '{"id": 10, "name": "name 10", "extra": 7}');
  await untilRows(served, service, "grow", 11);
  expect(await query(service, "SELECT count(), uniqExact(id), sum(extra), countIf(extra IS NULL) FROM grow")).toBe(
    "11\t11\t7\t10",
  );
  await untilState(served, service, id, "Running");
  expect((await details(served, service, id)).destination.columns).toContainEqual(extra);
});

test("a column that a table of the user lacks is refused with the statement to run, and accepted after it", async () => {
  await query(service, "CREATE TABLE mine (id UInt64, name String) ENGINE = MergeTree ORDER BY id");
  const more = { ...live, destination: { managedTable: false, tableDefinition: undefined } };
  const id = await createPipe(served, service, pipeBody(store, "mine/*.json", "mine", more));
  const refused = await refusal(patch(id, [...columns, extra]));
  expect(refused).toMatch(/^400 DESTINATION_INVALID .*has no column extra/);
  await query(service, /ALTER TABLE .*/.exec(refused)?.[0] ?? "");
  await patch(id, [...columns, extra]);
  await store.put("mine/000.json", '{"id": 1, "name": "a", "extra": 7}');
  await untilRows(served, service, "mine", 1);
  expect(await query(service, "SELECT sum(extra) FROM mine")).toBe("7");
});
