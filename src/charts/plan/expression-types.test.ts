import { expect, test } from "vitest";
import { sourceBody } from "../../api/chart-sources.ts";
import { seriesItem } from "../../api/charts.ts";
import { parseType } from "../../clickhouse/types.ts";
import { tableSchema } from "../columns/schema.ts";
import { Buckets } from "./buckets.ts";
import { planEvents } from "./events.ts";
import type { PlanInput } from "./plan.ts";

const serviceId = "5e7f1c1a-6c1d-4d56-9a57-3d0f6f6a2b11";
const range = { startMs: 1_714_557_600_000, endMs: 1_714_561_199_999 };
const schema = tableSchema(
  "d",
  "t",
  [
    { name: "t", type: "Int64" },
    { name: "n", type: "UInt64" },
    { name: "s", type: "String" },
    { name: "quiet", type: "String" },
    { name: "rate", type: "UInt8" },
  ],
  ["lower(`s`)"],
);

function inputOf(where: string, asked: (readonly string[])[]): PlanInput {
  const body = sourceBody.parse({
    ...{ name: "x", kind: "log", serviceId, from: { databaseName: "d", tableName: "t" } },
    ...{ timestampValueExpression: "fromUnixTimestamp64Milli(t)", implicitColumnExpression: "s" },
    sampleRateExpression: "rate + 1",
  });
  const times = { version: 1, createdAt: "2024-01-01T00:00:00.000Z", updatedAt: "2024-01-01T00:00:00.000Z" };
  const item = seriesItem.parse({ sourceId: "x", aggFn: "sum", field: "n * 2", groupBy: ["upper(s)"], where });
  return {
    source: { ...body, ...times, id: serviceId, serviceId, connection: serviceId },
    schema,
    series: [{ index: 0, item }],
    range,
    buckets: new Buckets({ ...range, granularity: "30m", zone: "UTC" }),
    mostGroups: undefined,
    exactQuantiles: true,
    warn: () => {},
    typesOf: async (expressions) => {
      asked.push(expressions);
      return expressions.map((sql) =>
        parseType(/^from/.test(sql) ? "DateTime64(3)" : /n/.test(sql) ? "UInt64" : "String"),
      );
    },
  };
}

test("the engine is asked once for the types of a query: fields, groups, time and weight together", async () => {
  const asked: (readonly string[])[] = [];
  await planEvents(inputOf("", asked));
  expect(asked).toEqual([["(`n` * 2)", "upper(`s`)", "fromUnixTimestamp64Milli(`t`)", "(`rate` + 1)"]]);
});

test("a plan knows the columns that it reads; the implicit text is one of them only for a bare word", async () => {
  const columnsOf = async (where: string) => {
    const { series, ...input } = inputOf(where, []);
    const ungrouped = series.map((one) => ({ ...one, item: { ...one.item, groupBy: [] } }));
    return [...(await planEvents({ ...input, series: ungrouped })).params.columns].sort();
  };
  expect(await columnsOf("n:5")).toEqual(["n", "rate", "t"]);
  expect(await columnsOf("error")).toEqual(["n", "rate", "s", "t"]);
});
