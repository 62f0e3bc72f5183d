import { expect, test } from "vitest";
import { cloneOf } from "./clone.ts";
import { bodyOf } from "./form.ts";

test("a clone sends what the pipe has, under another name, into another table, without its secrets", () => {
  const pipe = {
    ...{ id: "p", serviceId: "s", name: "clicks", state: "Running" },
    source: {
      objectStorage: { type: "s3", url: "https://b/in/*.json", format: "JSONEachRow", isContinuous: true },
    },
    destination: {
      ...{ database: "default", table: "clicks", managedTable: true },
      columns: [{ name: "id", type: "Int32" }],
      tableDefinition: { engine: { type: "MergeTree" }, sortingKey: ["id"] },
    },
    fieldMappings: [{ sourceField: "ID", destinationField: "id" }],
  } as unknown as Parameters<typeof cloneOf>[0];
  const form = cloneOf(pipe);
  expect(form.label).toBe("Amazon S3, MinIO");
  expect(bodyOf(form)).toMatchObject({
    name: "clicks copy",
    source: pipe.source,
    destination: { table: "clicks_copy", columns: pipe.destination.columns, tableDefinition: { sortingKey: ["id"] } },
    fieldMappings: pipe.fieldMappings,
  });
});

test("a clone leaves out what its original leaves out of a table", () => {
  const mapping = { sourceSchemaName: "public", sourceTable: "users", excludedColumns: ["password"] };
  const source = {
    relationalDb: { host: "h", database: "shop", tableMappings: [{ ...mapping, targetTable: "users" }] },
  };
  const pipe = { name: "shop", serviceId: "s", source, destination: { database: "shop" }, fieldMappings: [] };
  expect(bodyOf(cloneOf(pipe as unknown as Parameters<typeof cloneOf>[0])).source).toMatchObject({
    relationalDb: { tableMappings: [{ ...mapping, targetTable: "users_copy" }] },
  });
});
