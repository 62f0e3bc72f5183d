/** Whole words in real text: in every script, in phrases, addresses and JSON, against the same rule in plain code. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChartEngine, startEngine } from "../../../harness/engine/chart-engine.ts";
import { resolveField } from "../columns/operand.ts";
import { Params } from "../columns/params.ts";
import { tableSchema } from "../columns/schema.ts";
import { compileFilter } from "./compile.ts";
import { parseFilter } from "./parser.ts";

const schema = tableSchema("w", "t", [
  { name: "Body", type: "String" },
  { name: "doc", type: "JSON" },
  { name: "typed", type: "JSON(id UInt32)" },
  { name: "addr", type: "String" },
  { name: "ip", type: "IPv4" },
]);
let engine: ChartEngine;

beforeAll(async () => {
  engine = await startEngine();
  await engine.client.command("CREATE DATABASE w");
  const list = [...schema.columns.values()].map(({ name, type }) => `${name} ${type.text}`).join(", ");
  await engine.client.command(`CREATE TABLE w.t (${list}) ENGINE = MergeTree ORDER BY tuple()`);
});
afterAll(() => engine[Symbol.asyncDispose]());

async function fill(rows: readonly object[]): Promise<void> {
  await engine.client.command("TRUNCATE TABLE w.t");
  const body = Buffer.from(rows.map((row) => JSON.stringify(row)).join("\n"));
  await engine.client.command("INSERT INTO w.t FORMAT JSONEachRow", { body });
}

/** The texts of `column` in the rows that the filter selects. */
async function select(filter: string, column: string): Promise<string[]> {
  const params = new Params();
  const implicit = [resolveField([{ kind: "dotted", text: "Body" }], { text: "Body", at: 0 }, schema, params)];
  const condition = compileFilter(parseFilter(filter), { schema, params, zone: "UTC", implicit: () => implicit });
  const sql = `SELECT toString(${column}) AS x FROM w.t WHERE ${condition?.sql ?? "true"} ORDER BY x`;
  return (await engine.client.rows<{ x: string }>(sql, { params: params.values() })).map(({ x }) => x);
}

test.each([
  [
    "error",
    ["an error", "«error»", "error…", "x—error—y", "错误error了", "Error."],
    ["errors", "terror", "errorê", "éerror"],
  ],
  ["läuft", ["es läuft!", "«LÄUFT»"], ["verläuft", "läufte"]],
  ["错误", ["发生错误了", "错误"], ["错 误"]],
  ['"connection ref"', ["a connection ref b", "connection ref"], ["ref connection refused", "aconnection ref"]],
  ['"refused é"', ["refused é!", "refused é"], ["refused éa", "refused éé"]],
  ["10.0.0.1", ["from 10.0.0.1 to", "10.0.0.1:80"], ["110.0.0.1 and 10 0 1", "10.0.0.10 x 1"]],
  ["\\*", ["a * b", "**"], ["plain", ""]],
  ['"100%"', ["is 100%", "100%5"], ["1100%"]],
])("%s is found whole", async (filter, found, others) => {
  await fill([...found, ...others].map((Body) => ({ Body })));
  expect(await select(filter, "Body")).toEqual(
    [...found].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  );
});

test("random words in random texts of several scripts", async () => {
  const alphabet = [..."abé ñß-_.1٣漢字ひกอ한👍\u0301×…", "İ"];
  const text = fc.array(fc.constantFrom(...alphabet.slice(0, -1)), { maxLength: 9 }).map((parts) => parts.join(""));
  const bodies = fc.sample(text, { numRuns: 300, seed: 5 });
  await fill(bodies.map((Body) => ({ Body })));
  const isWord = (char: string | undefined) =>
    char !== undefined &&
    /[\p{L}\p{M}\p{N}]/u.test(char) &&
    !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Thai}]/u.test(char);
  const holds = (body: string, plain: string) => {
    const [chars, wanted] = [[...body.toLowerCase()], [...plain.toLowerCase()]];
    return chars.some((_, at) => {
      if (!wanted.every((char, i) => chars[at + i] === char)) return false;
      const [before, after] = [
        isWord(wanted[0]) && isWord(chars[at - 1]),
        isWord(wanted.at(-1)) && isWord(chars[at + wanted.length]),
      ];
      return !before && !after;
    });
  };
  const order = (texts: string[]) => texts.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  let found = 0;
  for (const plain of fc.sample(text, { numRuns: 120, seed: 6 }).filter((one) => one.trim() !== "")) {
    const got = await select(`"${plain}"`, "Body");
    expect(order(got), plain).toEqual(order(bodies.filter((body) => holds(body, plain))));
    found += got.length;
  }
  expect(found).toBeGreaterThan(100);
});

test("a number in JSON is equal, not contained; text in JSON is contained", async () => {
  const documents = [{ id: 42 }, { id: 142 }, { id: 42.5 }, { id: "x42y" }, { id: "421" }, {}];
  await fill(documents.map((doc) => ({ doc, Body: JSON.stringify(doc) })));
  expect(await select("doc.id:42", "doc.id")).toEqual(["42", "421", "x42y"]);
  expect(await select("Body.id:42", "doc.id")).toEqual(["42", "421", "x42y"]);
  expect(await select("doc.id:42.50", "doc.id")).toEqual(["42.5"]);
  await fill([42, 142].map((id) => ({ typed: { id } })));
  expect(await select("typed.id:42", "typed.id")).toEqual(["42"]);
});

test("an address is not found in a longer one, in text and as an address", async () => {
  const addresses = ["10.0.0.1", "110.0.0.1", "10.0.0.10", "10.0.0.1.5", "host 10.0.0.1.", "10.0.0.1:80"];
  await fill(addresses.map((addr) => ({ addr })));
  expect(await select("addr:10.0.0.1", "addr")).toEqual(["10.0.0.1", "10.0.0.1:80", "host 10.0.0.1."]);
  await fill(["10.0.0.1", "110.0.0.1", "10.0.0.10"].map((ip) => ({ ip })));
  expect(await select("ip:10.0.0.1", "ip")).toEqual(["10.0.0.1"]);
  expect(await select("ip:10.0.0.1*", "ip")).toEqual(["10.0.0.1", "10.0.0.10"]);
  await expect(select("ip:10.0.0", "ip")).rejects.toThrow(/is an address, "10.0.0" is not; write it whole/);
});
