import { describe, expect, test } from "vitest";
import { bodyOf, emptyForm, type Form, fitted, lacksSecrets, shownBody, sourceOf, withoutSecrets } from "./form.ts";

const kafka: Form = {
  ...emptyForm,
  kind: "messageBroker",
  name: "clicks",
  values: {
    type: "kafka",
    brokers: " b1:9092 ",
    authentication: "PLAIN",
    "credentials.username": "app",
    "credentials.password": "hidden",
    iamRole: "of another choice",
    format: "JSONEachRow",
    "offset.strategy": "from_latest",
    "offset.timestamp": "2026-01-01T00:00",
  },
  topics: ["clicks", "views"],
  table: "clicks",
  columns: [
    { field: "Id", name: "id", type: "UInt64" },
    { field: "noise", name: "noise", type: "String", skip: true },
  ],
  sortingKey: ["id"],
};

describe("the body", () => {
  test("has what is visible and filled in, and nothing else", () => {
    expect(sourceOf(kafka)).toEqual({
      messageBroker: {
        type: "kafka",
        brokers: "b1:9092",
        authentication: "PLAIN",
        credentials: { username: "app", password: "hidden" },
        format: "JSONEachRow",
        offset: { strategy: "from_latest" },
        topics: "clicks,views",
      },
    });
  });

  test("has the text of a number that is not one, which the server refuses", () => {
    const form = { ...emptyForm, kind: "relationalDb", values: { host: "h", port: "5432x" } } as const;
    expect(sourceOf(form)).toEqual({ relationalDb: { host: "h", port: "5432x" } });
  });

  test("leaves out columns that are skipped, and the definition of a table that exists", () => {
    const columns = [{ name: "id", type: "UInt64" }];
    const fieldMappings = [{ sourceField: "Id", destinationField: "id" }];
    expect(bodyOf(kafka)).toMatchObject({
      destination: { table: "clicks", managedTable: true, columns },
      fieldMappings,
    });
    const existing = bodyOf({ ...kafka, isNewTable: false });
    expect(existing).toMatchObject({ destination: { table: "clicks", managedTable: false, columns }, fieldMappings });
    expect(existing.destination).not.toHaveProperty("tableDefinition");
  });

  test("takes the types that the columns of a table have", () => {
    const types = fitted(kafka.columns, [{ name: "id", type: "UInt32" }]).map(({ type }) => type);
    expect(types).toEqual(["UInt32", "String"]);
  });
});

test("no draft and no example has a secret", () => {
  expect(JSON.stringify(withoutSecrets(kafka))).not.toContain("hidden");
  expect(JSON.stringify(shownBody(kafka))).not.toContain("hidden");
  expect(JSON.stringify(shownBody(kafka))).toContain(`\${env:PASSWORD}`);
});

test("a pipe of OpenTelemetry names its database, and no table", () => {
  const form = { ...emptyForm, kind: "push", name: "telemetry", values: { format: "otlp" }, database: "otel" } as const;
  expect(bodyOf(form)).toEqual({
    ...{ name: "telemetry", source: { push: { format: "otlp" } }, destination: { database: "otel" } },
  });
  expect(bodyOf({ ...form, values: { format: "JSONEachRow" }, table: "t" })).toMatchObject({
    destination: { table: "t" },
  });
});

test("secrets of a draft are asked for where the form has inputs for them, whatever it had before", () => {
  const kept = ["credentials.password"];
  const values = { ...kafka.values, "credentials.password": "" };
  expect([lacksSecrets({ ...kafka, values }, kept), lacksSecrets(kafka, kept)]).toEqual([true, false]);
  expect(lacksSecrets({ ...kafka, values: { ...values, authentication: "" } }, kept)).toBe(false);
  expect(lacksSecrets({ ...kafka, kind: "objectStorage", values: {} }, kept)).toBe(false);
});
