/** The examples of docs/filter-language.md are filters that work, and refusals that say what the document says. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { resolveField } from "../columns/operand.ts";
import { Params } from "../columns/params.ts";
import { tableSchema } from "../columns/schema.ts";
import { compileFilter } from "./compile.ts";
import { parseFilter } from "./parser.ts";

const document = readFileSync(new URL("../../../docs/filter-language.md", import.meta.url), "utf8");
const schema = tableSchema("d", "otel_logs", [
  { name: "Timestamp", type: "DateTime64(9)" },
  { name: "SeverityText", type: "LowCardinality(String)" },
  { name: "Body", type: "String" },
  { name: "StatusCode", type: "UInt16" },
  { name: "Sampled", type: "Bool" },
  { name: "ClientIp", type: "IPv4" },
  { name: "ResourceAttributes", type: "Map(LowCardinality(String), String)" },
  { name: "Json", type: "JSON" },
  { name: "Tags", type: "Array(String)" },
  { name: "Events.Attributes", type: "Array(Map(LowCardinality(String), String))" },
  { name: "odd column", type: "String" },
]);

const examples = (kind: string): [string, string][] =>
  [...document.matchAll(new RegExp(`\`\`\`${kind}\n(.*?)\`\`\``, "gs"))].flatMap(([, block]) =>
    (block as string)
      .trimEnd()
      .split("\n")
      .map((line): [string, string] => [line.slice(0, 39).trimEnd(), line.slice(39)]),
  );

function compile(filter: string): unknown {
  const params = new Params();
  const implicit = [resolveField([{ kind: "dotted", text: "Body" }], { text: "Body", at: 0 }, schema, params)];
  return compileFilter(parseFilter(filter), { schema, params, zone: "UTC", implicit: () => implicit });
}

test.each(examples("filter"))("%s", (filter) => {
  expect(compile(filter) !== undefined || filter === "*").toBe(true);
});

test.each(examples("refused"))("%s is refused", (filter, reason) => {
  expect(() => compile(filter)).toThrow(reason);
});

test("the document has examples of both kinds", () => {
  expect([examples("filter").length > 30, examples("refused").length > 4]).toEqual([true, true]);
});
