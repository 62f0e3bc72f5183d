import { expect, test } from "vitest";
import { destinationText, sourceText } from "./pipe-view.ts";

type Viewed = Parameters<typeof destinationText>[0];

const mapping = (targetTable: string) => ({ sourceSchemaName: "public", sourceTable: targetTable, targetTable });

test.each([
  [{ messageBroker: {} }, { table: "clicks" }, "default.clicks"],
  [{ relationalDb: { tableMappings: [mapping("orders"), mapping("users")] } }, {}, "default.orders and 1 more"],
  // Its tables are made by the signals that are sent.
  [{ push: { format: "otlp" } }, { database: "telemetry" }, "telemetry.*"],
])("a pipe from %o to %o fills %s", (source, destination, text) => {
  expect(destinationText({ source, destination } as unknown as Viewed)).toBe(text);
});

test.each([
  [{ push: {} }, "JSON that is sent to it"],
  [{ push: { format: "Parquet" } }, "Parquet that is sent to it"],
  [{ objectStorage: { url: "https://a/b/*.json" } }, "https://a/b/*.json"],
  [{ objectStorage: { path: "logs/*.json" } }, "logs/*.json"],
  [{ messageBroker: { brokers: "k:9092", topics: "a,b" } }, "a,b at k:9092"],
])("the source %j reads: %s", (source, text) => {
  expect(sourceText({ source } as never)).toBe(text);
});
