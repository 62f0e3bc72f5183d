import { expect, test } from "vitest";
import { sourceKindKeys } from "../../../../src/sources/contract/descriptions.ts";
import {
  columnsOf,
  differencesOf,
  draftOf,
  labelOf,
  loginFields,
  mutableMembers,
  newLoginFields,
  requestsOf,
  scalingFields,
  settingsOf,
} from "./draft.ts";
import type { PipeDetails } from "./use-pipe.ts";

const pipe = {
  ...{ id: "p", serviceId: "s", name: "clicks", settings: {}, scaling: {} },
  source: { objectStorage: { url: "https://b/*.json" } },
  destination: { columns: [{ name: "id", type: "Int32" }] },
  fieldMappings: [{ sourceField: "ID", destinationField: "id" }],
} as unknown as PipeDetails;

test("columns and mappings are edited as lines, and sent together", () => {
  const draft = draftOf(pipe);
  expect(draft.columns).toBe("ID = id Int32");
  expect(differencesOf(pipe, draft)).toEqual([]);
  const edited = { ...draft, columns: "ID = id Int64\na b = c Map(String, String)\n" };
  expect(requestsOf(pipe, differencesOf(pipe, edited)).patch).toEqual({
    fieldMappings: [
      { sourceField: "ID", destinationField: "id" },
      { sourceField: "a b", destinationField: "c" },
    ],
    destination: {
      columns: [
        { name: "id", type: "Int64" },
        { name: "c", type: "Map(String, String)" },
      ],
    },
  });
});

test("a line without a column is a field of that name, and a table that is not managed has no types", () => {
  expect(columnsOf("a\nb = c", { ...pipe, destination: {} } as PipeDetails)).toEqual({
    fieldMappings: [
      { sourceField: "a", destinationField: "a" },
      { sourceField: "b", destinationField: "c" },
    ],
  });
});

test("text that is not a number reaches the server, which refuses it", () => {
  const edited = { ...draftOf(pipe), "settings.database_max_threads": "4 threads", "scaling.replicas": "two" };
  expect(requestsOf(pipe, differencesOf(pipe, edited))).toEqual({
    patch: { settings: { database_max_threads: "4 threads" } },
    scaling: { replicas: "two" },
  });
});

test("members of a source are changed as the inputs of their kind are, and digits of a text stay text", () => {
  const relationalDb = { host: "h", port: 5432, database: "shop", disableTls: true, skipCertVerification: false };
  const postgres = { ...pipe, source: { relationalDb } } as unknown as PipeDetails;
  const draft = draftOf(postgres);
  expect(draft).toMatchObject({ "source.disableTls": "true", "source.skipCertVerification": "" });
  const edited = { ...draft, "source.database": "2024", "source.port": "5432x", "source.disableTls": "" };
  expect(requestsOf(postgres, differencesOf(postgres, edited)).patch).toEqual({
    source: { relationalDb: { database: "2024", port: "5432x", disableTls: false } },
  });
});

test("tables are edited as lines, and keep what a line does not say", () => {
  const named = (sourceSchemaName: string, sourceTable: string, targetTable: string) => ({
    ...{ sourceSchemaName, sourceTable, targetTable },
  });
  const [users, odd] = [{ ...named("public", "users", "users"), excludedColumns: ["pin"] }, named("a.b", "c=d", "e")];
  const postgres = { ...pipe, source: { relationalDb: { tableMappings: [users, odd] } } } as unknown as PipeDetails;
  const draft = draftOf(postgres);
  expect(draft["source.tableMappings"]).toBe("public.users = users\na.b.c=d = e");
  expect(differencesOf(postgres, draft)).toEqual([]);
  const edited = { ...draft, "source.tableMappings": "public.users = people\na.b.c=d = e\norders\n sales.lines=l \n" };
  expect(requestsOf(postgres, differencesOf(postgres, edited)).patch).toEqual({
    source: {
      relationalDb: {
        tableMappings: [
          { ...users, targetTable: "people" },
          odd,
          named("public", "orders", "orders"),
          named("sales", "lines", "l"),
        ],
      },
    },
  });
});

test("another strategy of offsets takes what only the present one uses along", () => {
  const offsets = [{ topic: "t", partition: 0, offset: 7 }];
  const offset = { strategy: "from_offsets", offsets };
  const kafka = { ...pipe, source: { messageBroker: { offset } } } as unknown as PipeDetails;
  const draft = draftOf(kafka);
  expect(differencesOf(kafka, draft)).toEqual([]);
  const text = "[]";
  expect(requestsOf(kafka, differencesOf(kafka, { ...draft, "source.offset.offsets": text })).patch).toEqual({
    source: { messageBroker: { offset: { strategy: "from_offsets", offsets: [] } } },
  });
  const edited = {
    ...draft,
    "source.offset.strategy": "from_timestamp",
    "source.offset.timestamp": "2026-11-22T08:00",
  };
  expect(requestsOf(kafka, differencesOf(kafka, edited)).patch).toEqual({
    source: {
      messageBroker: { offset: { strategy: "from_timestamp", timestamp: "2026-11-22T08:00", offsets: null } },
    },
  });
});

test("an object that a request replaces is sent whole, and one of which parts change in parts", () => {
  const sent = (source: object, texts: object) => {
    const one = { ...pipe, source } as unknown as PipeDetails;
    return requestsOf(one, differencesOf(one, { ...draftOf(one), ...texts })).patch?.source;
  };
  const timestamp = "2026-11-22T08:00";
  const offset = { strategy: "from_timestamp", timestamp };
  expect(sent({ messageBroker: { offset } }, { "source.offset.timestamp": "2026-11-23T08:00" })).toEqual({
    messageBroker: { offset: { strategy: "from_timestamp", timestamp: "2026-11-23T08:00" } },
  });
  // Typed for a choice that was taken back.
  expect(sent({ messageBroker: {} }, { "source.offset.timestamp": timestamp })).toBe(undefined);
  const signature = { scheme: "github" };
  expect(sent({ push: { signature } }, { "source.signature.scheme": "" })).toEqual({ push: { signature: null } });
  const settings = { syncIntervalSeconds: 5, pullBatchSize: 10 };
  const tableMappings: object[] = [];
  expect(sent({ relationalDb: { settings, tableMappings } }, { "source.settings.syncIntervalSeconds": "" })).toEqual({
    relationalDb: { settings: { syncIntervalSeconds: null } },
  });
});

test("another login asks for its members, which go with it when it is taken back", () => {
  const kafka = { ...pipe, source: { messageBroker: { authentication: "PLAIN" } } } as unknown as PipeDetails;
  const typed = { ...draftOf(kafka), "source.credentials.username": "u", "source.credentials.password": "4" };
  const other = { ...typed, "source.authentication": "SCRAM-SHA-256" };
  expect(newLoginFields(kafka, typed)).toEqual([]);
  expect(newLoginFields(kafka, other).map(({ label }) => label)).toEqual(["User", "Password"]);
  expect(differencesOf(kafka, typed)).toEqual([]);
  expect(requestsOf(kafka, differencesOf(kafka, other)).patch?.source).toEqual({
    messageBroker: { authentication: "SCRAM-SHA-256", credentials: { username: "u", password: "4" } },
  });
  const signed = { ...pipe, source: { push: { signature: { scheme: "github" } } } } as unknown as PipeDetails;
  const stripe = { ...draftOf(signed), "source.signature.scheme": "stripe", "source.signature.secret": "12345678" };
  expect(requestsOf(signed, differencesOf(signed, stripe)).patch?.source).toEqual({
    push: { signature: { scheme: "stripe", secret: "12345678" } },
  });
});

test("credentials can be replaced where the source logs in with some", () => {
  const fieldsOf = (source: object) =>
    loginFields({ ...pipe, source } as unknown as PipeDetails).map(({ path }) => path);
  const keys = ["accessKey.accessKeyId", "accessKey.secretKey"];
  const user = ["credentials.username", "credentials.password"];
  expect(fieldsOf({ messageBroker: { brokers: "b:9092" } })).toEqual([]);
  expect(fieldsOf({ messageBroker: { authentication: "PLAIN" } })).toEqual(user);
  expect(fieldsOf({ objectStorage: { url: "https://b/*.json" } })).toEqual([]);
  expect(fieldsOf({ objectStorage: { authentication: "IAM_USER" } })).toEqual(keys);
  expect(fieldsOf({ managedStream: {} })).toEqual(keys);
  expect(fieldsOf({ relationalDb: {} })).toEqual(user);
  expect(fieldsOf({ push: {} })).toEqual([]);
  expect(fieldsOf({ push: { signature: { scheme: "github" } } })).toEqual(["signature.secret"]);
  for (const kind of sourceKindKeys)
    expect(fieldsOf({ [kind]: { authentication: "IAM_ROLE", iamRole: "a" } })).toEqual([]);
});

test.each(sourceKindKeys)("each member of %s that can change has a label of its own, which is not its path", (kind) => {
  const source = { [kind]: {} };
  const paths = [
    "name",
    ...mutableMembers({ ...pipe, source } as unknown as PipeDetails).map((member) => `source.${member}`),
    ...settingsOf(kind).map((name) => `settings.${name}`),
    ...Object.keys(scalingFields).map((name) => `scaling.${name}`),
  ];
  const labels = paths.map((path) => labelOf(kind, path));
  expect(labels.filter((label) => !/^[A-Z][^._]*$/.test(label))).toEqual([]);
  expect(new Set(labels).size).toBe(paths.length);
});
