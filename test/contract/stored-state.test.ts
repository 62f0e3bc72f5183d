/**
 * The stored state of pipes outlives the program: each version reads what earlier ones have written, and no stored
 * shape changes unnoticed.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { manifestSchema } from "../../src/backups/files/manifest.ts";
import { metadataManifestSchema } from "../../src/backups/metadata.ts";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import { definitionShapes, problemOf } from "../../src/pipes/control/definition/stored-definition.ts";
import { commonMarks, frozenShape, StoredForms } from "../../src/pipes/durable.ts";
import { errorRequestShapes } from "../../src/pipes/error-requests.ts";
import { kindOf, sourceKinds } from "../../src/sources/contract/registry.ts";
import { columnShapes, readJson } from "../../src/store/database/column-shapes.ts";
import { pipeSnapshotSchema } from "../../src/store/pipes/pipe-snapshots.ts";
import type { Pipe } from "../../src/store/pipes/pipes.ts";
import { pipeSeries, serviceSeries } from "../../src/store/saved/history-series.ts";

const whatToDo =
  "A stored shape has changed. Pipes of running installations have data of the former shape. Change it as " +
  "src/sources/contract/durable.ts says (a new version, the former one still read, a sample of it in test/contract/stored/); " +
  "only where all former data is read as before, such as with a new optional member, put the new hash here and no more.";

/** First characters of the SHA-256 of each shape's JSON schema. */
const hashes = {
  "error requests replay": "3a332330a068",
  "column accessList": "77ff42b83341",
  "column accessRights": "ae4c46f468f2",
  "column cloudMembers": "6e088685a908",
  "column errorSelection": "ac2868d8816b",
  "column managedConnection": "c409eaf81191",
  "column queryEndpointKeys": "4e2bd3d7ee0e",
  "column queryEndpointRoles": "6ce097846989",
  "column resyncObjects": "aaa0ed10ff97",
  "column resyncTables": "4e2bd3d7ee0e",
  "column serviceConnection": "33a4ddaab7de",
  "column tags": "f006f1c62eae",
  "history of pipes": "11f4bfb6133a",
  "history of services": "e7ad72ff6b91",
  intent: "0a4ed25968c6",
  "managedStream checkpoint": "612c3c87bf67",
  "managedStream mark shard:": "f3b6b1370b14",
  "managedStream mark start": "8f87e7f2f3c3",
  "managedStream replay": "847fd0fa693e",
  "managedStream source": "1d70f0f9cfd6",
  "push checkpoint": "4c0a5b163375",
  "push replay": "4dede3e1b71a",
  "push source": "371ac3386b82",
  manifest: "1494cdae93ab",
  "mark begun": "4c0a5b163375",
  "messageBroker checkpoint": "18ae16123a56",
  "messageBroker mark begin:": "7b6e923e1f50",
  "messageBroker mark subscription": "66d7e6fe9da9",
  "messageBroker replay": "1ea819d7a247",
  "messageBroker source": "ed350b0cbdd8",
  "metadata manifest": "3e106c3e78e6",
  "objectStorage checkpoint": "a05696b2b604",
  "objectStorage mark again": "0bdcdd6c3ce4",
  "objectStorage mark cursor:": "612c3c87bf67",
  "objectStorage mark o:": "c84bade22240",
  "objectStorage replay": "806a65823893",
  "objectStorage source": "d40b4c72af32",
  "pipe destination": "fd8880fec588",
  "pipe fieldMappings": "ce58419877b7",
  "pipe in a backup": "55383eb76111",
  "pipe scaling": "00a380230125",
  "pipe settings": "2c371b3eed7c",
  "relationalDb checkpoint": "a1203a226155",
  "relationalDb mark confirmed": "a784e16c4c6f",
  "relationalDb mark copied": "a784e16c4c6f",
  "relationalDb mark cut:": "ba0975cb0f67",
  "relationalDb mark lineage": "a9f453b41b5d",
  "relationalDb mark lost": "e146a9d52c64",
  "relationalDb mark since:": "612c3c87bf67",
  "relationalDb mark slot": "a784e16c4c6f",
  "relationalDb mark snapshot:": "b2c351d91a8c",
  "relationalDb mark table:": "0b6d2c9a88d2",
  "relationalDb mark targets": "4e2bd3d7ee0e",
  "relationalDb replay": "c687864d11c1",
  "relationalDb source": "4e9a36011235",
};

function hashOf(shape: z.core.$ZodType): string {
  const schema = z.toJSONSchema(shape, { unrepresentable: "any", io: "input" });
  return createHash("sha256")
    .update(JSON.stringify(schema, (key, value) => (key === "description" ? undefined : value)))
    .digest("hex")
    .slice(0, 12);
}

function shapes(): (readonly [string, z.core.$ZodType])[] {
  const ofKinds = Object.entries(sourceKinds).flatMap(([kind, { durable, request }]) => [
    [`${kind} source`, request] as const,
    [`${kind} replay`, durable.replay] as const,
    [`${kind} checkpoint`, durable.checkpoint] as const,
    ...Object.entries(durable.marks).map(([key, shape]) => [`${kind} mark ${key}`, shape] as const),
  ]);
  const ofPipes = Object.entries(definitionShapes).map(([name, shape]) => [`pipe ${name}`, shape] as const);
  const common = Object.entries(commonMarks).map(([key, shape]) => [`mark ${key}`, shape] as const);
  const errorRequests = ["error requests replay", errorRequestShapes.replay] as const;
  const columns = Object.entries(columnShapes).map(([name, shape]) => [`column ${name}`, shape] as const);
  const backups = [
    ["manifest", manifestSchema],
    ["metadata manifest", metadataManifestSchema],
    ["pipe in a backup", pipeSnapshotSchema],
  ] as const;
  // The place of a name is its place in the files.
  const histories = [
    ["history of pipes", z.enum(pipeSeries)],
    ["history of services", z.enum(serviceSeries)],
  ] as const;
  return [
    ...[...ofKinds, ...ofPipes, ...common, ["intent", frozenShape] as const, errorRequests],
    ...[...columns, ...backups, ...histories],
  ];
}

test("no stored shape changes unnoticed", () => {
  const now = Object.fromEntries(shapes().map(([name, shape]) => [name, hashOf(shape)]));
  expect(now, whatToDo).toEqual(hashes);
});

test("no mark's key begins with another mark's", () => {
  for (const { durable } of Object.values(sourceKinds)) {
    const keys = [...Object.keys(durable.marks), ...Object.keys(commonMarks)];
    for (const key of keys) expect(keys.filter((other) => key.startsWith(other))).toEqual([key]);
  }
});

type Sample = { readonly kind: string; readonly table: string; readonly key: string; readonly stored: Json };

/** Rows from the tables of 826d3ae in runs with real peers: one of each form. None of them has a version. */
const samples = readFileSync(new URL("stored/826d3ae.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Sample);

/** Reads as a worker's start does, and writes the result. */
function rewritten({ kind, table, key, stored }: Sample): Json {
  const forms = new StoredForms(kindOf(kind).durable);
  if (table === "intent") {
    const read = forms.readIntent({ batchId: key, lane: "lane", intent: stored as JsonObject });
    return forms.writeIntent(read).intent;
  }
  if (table === "mark") return forms.writeMarks(forms.readMarks({ [key]: stored }))[key] ?? null;
  const read = forms.readCheckpoints({ [key]: stored })[key] ?? null;
  return (
    forms.writeConfirmation({ batchId: "b", lane: key, checkpoint: read, marks: {}, counts: {} }).checkpoint ?? null
  );
}

function withVersions({ table, stored }: Sample): Json {
  if (typeof stored !== "object" || stored === null || Array.isArray(stored)) return stored;
  const object = stored as JsonObject;
  return table === "intent"
    ? { ...object, v: 1, replay: { ...(object.replay as JsonObject), v: 1 } }
    : { ...object, v: 1 };
}

describe("what 826d3ae has stored, before there were versions", () => {
  test.each(samples.map((sample) => [`${sample.kind} ${sample.table} ${sample.key}`, sample] as const))(
    "is read without losing a member: %s",
    (_, sample) => {
      expect(rewritten(sample)).toEqual(withVersions(sample));
      // Again, in the current form.
      expect(rewritten({ ...sample, stored: rewritten(sample) })).toEqual(withVersions(sample));
    },
  );

  /** Kinds and marks that later versions have brought. */
  const laterKinds = ["push"];
  const later = ["messageBroker subscription", "objectStorage again", "relationalDb lost"];

  test("is there for every shape", () => {
    for (const [kind, { durable }] of Object.entries(sourceKinds)) {
      if (laterKinds.includes(kind)) continue;
      const of = samples.filter((sample) => sample.kind === kind);
      const marks = of.filter(({ table }) => table === "mark").map(({ key }) => key);
      for (const start of Object.keys({ ...durable.marks, ...commonMarks })) {
        if (later.includes(`${kind} ${start}`)) continue;
        expect(
          marks.some((key) => key.startsWith(start)),
          `${kind} ${start}`,
        ).toBe(true);
      }
      expect(of.some(({ table }) => table === "intent")).toBe(true);
    }
  });
});

describe("what cannot be read fails the pipe, with its name and the member", () => {
  const forms = new StoredForms(sourceKinds.messageBroker.durable);
  const unreadable = (code: string, message: string) => expect.objectContaining({ code, message });

  test("a member of another type", () => {
    expect(() => forms.readCheckpoints({ "t/0": { topicId: "id", next: "12" } })).toThrow(
      unreadable(
        "STORED_STATE_UNREADABLE",
        "The stored position of t/0 cannot be read: next: Invalid input: expected number, received string.",
      ),
    );
  });

  test("a version that this server does not know", () => {
    expect(() => forms.readMarks({ "begin:t": { v: 2, topicId: "id", offsets: {} } })).toThrow(
      "The stored mark begin:t cannot be read: it has version 2, and this server reads up to 1.",
    );
  });

  test("an intent, by its batch", () => {
    const { stored, key } = samples.find(({ kind, table }) => kind === "messageBroker" && table === "intent") as Sample;
    const intent = stored as { replay: JsonObject } & JsonObject;
    const { next: _, ...replay } = intent.replay;
    expect(() => forms.readIntent({ batchId: key, lane: "l", intent: { ...intent, replay } })).toThrow(
      `The stored replay of the batch ${key} cannot be read: next`,
    );
  });

  test("a column of the metadata database, by what it is for", () => {
    const { serviceConnection, errorSelection, resyncObjects } = columnShapes;
    const stored = { urls: ["http://a:8123"], username: "u", tls: { caCertificate: "pem" } };
    // Rows written before there were versions have none.
    expect(readJson(serviceConnection, JSON.stringify(stored), "connection")).toEqual(stored);
    expect(readJson(serviceConnection, JSON.stringify({ v: 1, ...stored }), "connection")).toEqual(stored);
    expect(() => readJson(serviceConnection, '{"urls":["http://a:8123"]}', "connection of the service")).toThrow(
      unreadable(
        "STORED_STATE_UNREADABLE",
        "The stored connection of the service cannot be read: username: Invalid input: expected string, received undefined.",
      ),
    );
    expect(() => readJson(errorSelection, '{"v":2}', "selection")).toThrow("it has version 2");
    expect(readJson(resyncObjects, '[{"key":"a"},{"prefix":"b/"}]', "objects")).toHaveLength(2);
    expect(() => readJson(resyncObjects, '[{"name":"a"}]', "objects")).toThrow("stored objects cannot be read: 0:");
  });

  test("lists of a query endpoint, and members of the ClickHouse Cloud API", () => {
    const { queryEndpointRoles, queryEndpointKeys, cloudMembers } = columnShapes;
    expect(readJson(queryEndpointRoles, '["sql_console_admin"]', "roles")).toEqual(["sql_console_admin"]);
    expect(() => readJson(queryEndpointRoles, '["owner"]', "roles")).toThrow("stored roles cannot be read: 0:");
    expect(readJson(queryEndpointKeys, '["a"]', "keys")).toEqual(["a"]);
    expect(() => readJson(queryEndpointKeys, "[1]", "keys")).toThrow("stored keys cannot be read: 0:");
    // Rows written before there were versions have none.
    expect(readJson(cloudMembers, '{"tier":"production","a.b":true}', "members")).toMatchObject({ "a.b": true });
    expect(readJson(cloudMembers, '{"v":1,"tier":"production"}', "members")).toMatchObject({ tier: "production" });
    expect(() => readJson(cloudMembers, '{"v":2}', "members")).toThrow("it has version 2");
    expect(() => readJson(cloudMembers, '{"tier":{}}', "members")).toThrow("stored members cannot be read: tier:");
  });

  test("a definition, by its part", () => {
    const rest = { sourceKind: "messageBroker", fieldMappings: [], scaling: {}, settings: {} };
    const pipe = { ...rest, destination: JSON.parse('{"columns":[{"name":"a"}]}') as Pipe["destination"] };
    expect(problemOf(pipe, { brokers: "b", topics: "t" })).toContain(
      "destination of the pipe cannot be read: columns.0.type",
    );
    const sound = { ...pipe, destination: {} };
    expect(problemOf(sound, { brokers: "b" })).toContain("source of the pipe cannot be read: topics");
    expect(problemOf(sound, { brokers: "b", topics: "t" })).toBeUndefined();
  });

  test("a mark that no shape is stated for is a mistake of ours", () => {
    expect(() => forms.writeMarks({ unknown: 1 })).toThrow(TypeError);
  });
});
