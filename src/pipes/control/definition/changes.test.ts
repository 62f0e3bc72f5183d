/** Changes of a pipe whose secrets this installation cannot open. */
import { expect, test } from "vitest";
import { pipeOperations } from "../../../api/pipes.ts";
import { sourceKinds } from "../../../sources/contract/registry.ts";
import type { SourceKind } from "../../../sources/contract/source.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";
import { checkChange } from "./changes.ts";

const schemaRegistry = { url: "https://registry.example", authentication: "PLAIN" };
const broker = { brokers: "b:9092", topics: "t", format: "AvroConfluent", authentication: "PLAIN", schemaRegistry };
const pipe = {
  ...{ sourceKind: "messageBroker", source: { messageBroker: broker }, settings: {}, fieldMappings: [] },
  destination: { table: "t", columns: [{ name: "a", type: "String" }] },
} as unknown as Pipe;
const change = (messageBroker: object) => checkChange(pipe, undefined, { source: { messageBroker } });
const credentials = { username: "u", password: "p" };

test("new credentials take the place of the old ones, which are not opened", () => {
  const { change: changed, config } = change({ credentials });
  expect(config).toEqual({ ...broker, credentials });
  expect(changed.secrets).toMatchObject({ credentials });
  expect(changed.source).toEqual({ messageBroker: broker });
});

test("a member that holds secrets and was fixed at creation can be given again with them, and with nothing else", () => {
  const again = { schemaRegistry: { ...schemaRegistry, credentials } };
  expect(change({ credentials, ...again }).change.secrets).toEqual({ credentials, ...again });
  const other = { schemaRegistry: { ...schemaRegistry, url: "https://other.example", credentials } };
  expect(() => change({ credentials, ...other })).toThrow("source.messageBroker.schemaRegistry: cannot be changed");
});

test("other members are changed without the secrets: they are kept, and nothing is tried", () => {
  const { change: changed, config } = change({ caCertificate: "-----BEGIN" });
  expect(changed.source).toEqual({ messageBroker: { ...broker, caCertificate: "-----BEGIN" } });
  expect([config, "secrets" in changed]).toEqual([undefined, false]);
});

test("stored credentials are not sent to another address: they are given again with it", () => {
  const stored = { credentials };
  const redirect = (messageBroker: object) => checkChange(pipe, stored, { source: { messageBroker } });
  const again = /source\.messageBroker\.credentials: must be given again with another brokers/;
  for (const brokers of ["evil.example:9092", "b:9092,evil.example:9092", "b:9093", "PLAINTEXT://b:9092"]) {
    expect(() => redirect({ brokers }), brokers).toThrow(again);
    // Sealed with a key that may come back.
    expect(() => change({ brokers }), brokers).toThrow(again);
    expect(redirect({ brokers, credentials }).config).toMatchObject({ brokers, credentials });
  }
  const role = { authentication: "IAM_ROLE", iamRole: "arn:aws:iam::1:role/r" } as const;
  const withoutSecret = checkChange(pipe, {}, { source: { messageBroker: { ...role, brokers: "other:9092" } } });
  expect(withoutSecret.config).toMatchObject({ brokers: "other:9092" });
  expect(redirect({ caCertificate: "-----BEGIN" }).config).toMatchObject({ credentials });
  const redirectDatabase = (relationalDb: object) => checkChange(database, secrets, { source: { relationalDb } });
  for (const moved of [{ host: "evil.example" }, { port: 5433 }]) {
    expect(() => redirectDatabase(moved)).toThrow(/source\.relationalDb\.credentials: must be given again/);
    expect(redirectDatabase({ ...moved, ...secrets }).config).toMatchObject(moved);
  }
  expect(redirectDatabase({ database: "e" }).config).toMatchObject({ database: "e" });
});

test("every secret of a kind is for an address that cannot change, or is named with its address", () => {
  const addresses = /host|port|url|endpoint|broker|address|server/i;
  // Named like addresses, and none that anything is sent to.
  const others = ["tlsHost", "reversePrivateEndpointIds"];
  for (const kind of Object.values<SourceKind>(sourceKinds)) {
    const mutable = kind.mutable.filter((path) => addresses.test(path) && !others.includes(path));
    expect([kind.key, mutable.toSorted()]).toEqual([
      kind.key,
      Object.values(kind.sentTo ?? {})
        .flat()
        .toSorted(),
    ]);
  }
});

const database = {
  ...{ sourceKind: "relationalDb", settings: {}, fieldMappings: [], destination: {} },
  source: {
    relationalDb: {
      ...{ host: "h", database: "d", tableMappings: [{ sourceSchemaName: "s", sourceTable: "t", targetTable: "t" }] },
      settings: { replicationMode: "cdc", syncIntervalSeconds: 60, pullBatchSize: 10 },
    },
  },
} as unknown as Pipe;
const secrets = { credentials: { username: "u", password: "p" } };
const changeSettings = (settings: object) =>
  checkChange(database, secrets, pipeOperations.updatePipe.body.parse({ source: { relationalDb: { settings } } }));

test("settings of a source are merged: one that is left out stays, null removes one", () => {
  const { change: changed } = changeSettings({
    syncIntervalSeconds: 5,
    initialLoadParallelism: 2,
    pullBatchSize: null,
  });
  expect(changed.source?.relationalDb).toMatchObject({
    settings: { replicationMode: "cdc", syncIntervalSeconds: 5, initialLoadParallelism: 2 },
  });
  expect((changed.source as { relationalDb: { settings: object } }).relationalDb.settings).not.toHaveProperty(
    "pullBatchSize",
  );
  expect(changeSettings({ replicationMode: "cdc", syncIntervalSeconds: 60 }).change).toEqual({});
});

test("a setting that decides what the pipe has made is refused by name", () => {
  for (const [settings, name] of [
    [{ replicationMode: "snapshot" }, "replicationMode"],
    [{ publicationName: "other", syncIntervalSeconds: 5 }, "publicationName"],
    [{ replicationMode: null }, "replicationMode"],
  ] as const) {
    expect(() => changeSettings(settings)).toThrow(`source.relationalDb.settings.${name}: cannot be changed`);
  }
});

const mapped = (sourceTable: string, more: object = {}) => ({
  ...{ sourceSchemaName: "s", sourceTable, targetTable: sourceTable },
  ...more,
});
const changeTables = (relationalDb: object, before: Partial<Pipe> = {}) =>
  checkChange({ ...database, resyncTables: [], ...before }, secrets, { source: { relationalDb } } as never).change;
const mappingsOf = (change: ReturnType<typeof changeTables>) =>
  (change.source as { relationalDb: { tableMappings: object[] } }).relationalDb.tableMappings;

test("tables are added to those that the pipe has, and removed ones begin anew should they come back", () => {
  const added = changeTables({ tableMappingsToAdd: [mapped("u"), mapped("v", { targetTable: "w" })] });
  expect(mappingsOf(added)).toEqual([mapped("t"), mapped("u"), mapped("v", { targetTable: "w" })]);
  expect(added).not.toHaveProperty("resyncTables");
  const table = { sourceSchemaName: "s", sourceTable: "t" };
  const replaced = changeTables(
    { tableMappingsToAdd: [mapped("u")], tableMappingsToRemove: [table] },
    { resyncTables: ["x"] },
  );
  expect([mappingsOf(replaced), replaced.resyncTables]).toEqual([[mapped("u")], ["x", "t"]]);
  const whole = changeTables({ tableMappings: [mapped("u")] });
  expect([mappingsOf(whole), whole.resyncTables]).toEqual([[mapped("u")], ["t"]]);
  expect(changeTables({ tableMappingsToAdd: [], tableMappingsToRemove: null })).toEqual({});
  expect(changeTables({ tableMappings: null, host: null })).toEqual({});
});

test("a table that is removed and added is copied anew, also under the same mapping", () => {
  const to = (mapping: object) => ({ tableMappingsToRemove: [mapped("t")], tableMappingsToAdd: [mapping] });
  expect(changeTables(to(mapped("t")))).toEqual({ resyncTables: ["t"] });
  const other = changeTables(to(mapped("t", { excludedColumns: ["c"] })));
  expect([mappingsOf(other), other.resyncTables]).toEqual([[mapped("t", { excludedColumns: ["c"] })], ["t"]]);
});

test.each([
  [
    "a table that the pipe does not have",
    { tableMappingsToRemove: [mapped("u")] },
    "ToRemove.0: s.u into u is not a table of",
  ],
  [
    "a table under another target",
    { tableMappingsToRemove: [mapped("t", { targetTable: "u" })] },
    "ToRemove.0: s.t into u is not a table of this pipe",
  ],
  ["the last table", { tableMappingsToRemove: [mapped("t")] }, "ToRemove: leaves no table; delete the pipe instead"],
  [
    "a table that the pipe has",
    { tableMappingsToAdd: [mapped("u"), mapped("t", { targetTable: "x" })] },
    "ToAdd.1.sourceTable: s.t is a table of this pipe already",
  ],
  [
    "a target that is taken",
    { tableMappingsToAdd: [mapped("u"), mapped("v", { targetTable: "u" })] },
    "ToAdd.1.targetTable: u is the table of s.u already",
  ],
  ["the list beside", { tableMappings: [mapped("u")], tableMappingsToAdd: [mapped("v")] }, ": cannot be combined with"],
])("%s is refused by name", (_, change, message) => {
  expect(() => changeTables(change)).toThrow(`source.relationalDb.tableMappings${message}`);
});
