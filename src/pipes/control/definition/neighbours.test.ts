/** A new pipe beside the others of its service. */
import { expect, test } from "vitest";
import type { NewPipe } from "../../../store/pipes/pipes.ts";
import { neighbourWarnings, refuseTakenTables } from "./neighbours.ts";

const base = { serviceId: "s", fieldMappings: [], scaling: {}, settings: {}, secrets: {}, roles: undefined };
function pipe(name: string, table: string, more: Partial<NewPipe> = {}): NewPipe {
  const source = { messageBroker: { brokers: "b:1", topics: "t", consumerGroup: "g" } };
  return { ...base, name, sourceKind: "messageBroker", source, destination: { table }, ...more };
}
const targets = [{ sourceSchemaName: "public", sourceTable: "x", targetTable: "events" }];
const database: Partial<NewPipe> = {
  ...{ sourceKind: "relationalDb", source: { relationalDb: { tableMappings: targets } }, destination: {} },
};

test("a table has one pipe that manages it; others load into it only on purpose", () => {
  const others = [pipe("first", "events")];
  expect(() => refuseTakenTables(pipe("second", "events"), others)).toThrow(
    'destination.table: default.events is the table of pipe "first"; choose another one, or set managedTable to false',
  );
  expect(() => refuseTakenTables(pipe("second", "", database), others)).toThrow("source.relationalDb.tableMappings");
  expect(() => refuseTakenTables(pipe("second", "events"), [pipe("first", "", database)])).toThrow('pipe "first"');
  for (const destination of [{ table: "events", managedTable: false }, { table: "other" }]) {
    refuseTakenTables(pipe("second", "", { destination }), others);
  }
  refuseTakenTables(pipe("second", "", { destination: { table: "events", database: "b" } }), others);
});

test("a pipe whose tables have fixed names is told of the database, and that another name has no effect", () => {
  const otlp = (name: string, destination: NewPipe["destination"]) =>
    pipe(name, "", { sourceKind: "push", source: { push: { format: "otlp" } }, destination });
  const first = otlp("first", {});
  for (const destination of [{}, { table: "traces" }]) {
    expect(() => refuseTakenTables(otlp("second", destination), [first])).toThrow(
      /^destination\.database: default\.otel_\w+ is the table of pipe "first"; the names are fixed: choose another database$/,
    );
  }
  refuseTakenTables(otlp("second", { database: "shop" }), [first]);
  expect(neighbourWarnings(otlp("second", { table: "traces" }), [])).toEqual([
    { path: "destination.table", message: "has no effect: the pipe names its tables itself" },
  ]);
});

test("a change is refused tables of others, and keeps those that the pipe has", () => {
  const before = pipe("second", "", database);
  const more = [...targets, { sourceSchemaName: "public", sourceTable: "y", targetTable: "orders" }];
  const after = { ...before, source: { relationalDb: { tableMappings: more } } };
  const sharing = pipe("first", "", { destination: { table: "events", managedTable: false } });
  refuseTakenTables(after, [sharing], before);
  expect(() => refuseTakenTables(after, [pipe("third", "orders")], before)).toThrow(
    'source.relationalDb.tableMappings: default.orders is the table of pipe "third"',
  );
});

test("members without effect and a shared consumer group are named", () => {
  const settings = {
    object_storage_concurrency: 1,
    object_storage_max_file_count: 5,
    streaming_max_insert_wait_ms: 500,
  };
  expect(neighbourWarnings(pipe("second", "b", { settings }), [pipe("first", "a")])).toEqual([
    { path: "settings.object_storage_max_file_count", message: "has no effect on messageBroker pipes" },
    {
      path: "source.messageBroker.consumerGroup",
      message: 'pipe "first" commits its offsets to the same group',
    },
  ]);
  const more = { ...database, settings: { streaming_max_insert_wait_ms: 500 }, scaling: { replicas: 2 } };
  expect(neighbourWarnings(pipe("third", "", more), [pipe("first", "a")]).map(({ path }) => path)).toEqual([
    ...["settings.streaming_max_insert_wait_ms", "scaling.replicas"],
  ]);
});
