/** Whatever is a piece, the engine reads it in a larger text as it reads it alone. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { ClickHouseError } from "../../clickhouse/client.ts";
import { literal } from "../../clickhouse/sql.ts";
import { joined, type Piece, pieceOf } from "./joinable-data.ts";

let engine: BareEngine;
beforeAll(async () => {
  engine = await BareEngine.start();
});
afterAll(async () => await engine[Symbol.asyncDispose]());

const structure = "a String, b Nullable(String), c Array(String) DEFAULT []";

/** The rows, or undefined for an error of the data. */
async function rows(format: string, data: Buffer): Promise<string[] | undefined> {
  // Clients set it, and an escape that is none must not take the end of a text.
  const settings = { input_format_parallel_parsing: 0, input_format_json_throw_on_bad_escape_sequence: 0 };
  const sql = `SELECT * FROM format(${format}, ${literal(structure)}, ${literal(data.toString())}) FORMAT JSONCompactEachRow`;
  try {
    const text = await engine.client.text(sql, { settings });
    return text.split("\n").filter((line) => line !== "");
  } catch (error) {
    if (error instanceof ClickHouseError) return undefined;
    throw error;
  }
}

/** A small generator of numbers: a failure names its seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Rows that are good, and what may be between, before and in them. */
const forms: Readonly<Record<string, { readonly good: readonly string[]; readonly other: readonly string[] }>> = {
  JSONEachRow: {
    good: ['{"a":"x"}', '{"a":"x","b":null}\n', '{"c":["y"]}', '{"a":"\\u', '{"a":"\\ud800\\"}', '"}'],
    other: [
      '"}',
      "\\u",
      "\\ud800",
      "\\u00e4",
      "00",
      "q",
      "{",
      "}",
      '"',
      "\\",
      '"a"',
      ":",
      ",",
      "\n",
      "[",
      "]",
      " ",
      "1",
      "'",
    ],
  },
  JSONCompactEachRow: {
    good: ['["x","y",[]]', '["x",null,["z"]]\n'],
    other: ["[", "]", '"', "\\", "x", ",", "\n", " ", "null", "{"],
  },
  TSV: {
    good: ["x\ty\t[]\n", "x\t\\N\t['z']\n", "\t\t[]\n"],
    other: ["x\ty\t[]", "x", "\t", "\n", "\\", "\\\n", "\\x", "\\x4\n", "'", "[", "]", '"', "\r", " "],
  },
  CSV: {
    good: ["x,y,[]\n", '"x","y","[]"\n', `"x\ny",,"['z']"\r\n`],
    other: ["x,y,[]", "x", ",", "\n", '"', '""', "'", "[", "]", " ", "\r\n", "\\"],
  },
  Values: {
    good: ["('x','y',[])", "('x',NULL,['z']),", "('it''s','\\\\',[]) "],
    other: ["(", ")", "'", "''", "\\", "'\\x", "\\x4", "x", ",", "\n", "[", "]", ";", "-", "--", "/*", " ", '"', "`"],
  },
};

test.each(Object.keys(forms))("rows of %s never end in another piece", async (format) => {
  const pick = random(format.length * 7_919);
  const { good, other } = forms[format] as (typeof forms)[string];
  const word = () => (pick(3) > 0 ? good[pick(good.length)] : other[pick(other.length)]) as string;
  const texts = Array.from({ length: 20_000 }, () => Array.from({ length: 1 + pick(5) }, word).join(""));
  const pieces = [...new Set(texts)]
    .map((text) => pieceOf(format, Buffer.from(text)))
    .filter((piece): piece is Piece => piece !== undefined);
  const sample = Array.from(
    { length: 300 },
    () => [pieces[pick(pieces.length)], pieces[pick(pieces.length)]] as [Piece, Piece],
  );
  let read = 0;
  for (const pair of sample) {
    const alone = await Promise.all(pair.map(({ data }) => rows(format, data)));
    const together = await rows(format, joined(format, pair));
    const shown = pair.map(({ data }) => data.toString());
    if (together === undefined) continue;
    read += 1;
    expect(together, JSON.stringify(shown)).toEqual(alone.flat());
    expect(
      alone.map((one) => one?.length),
      JSON.stringify(shown),
    ).toEqual(pair.map((one) => one.rows));
  }
  expect(read).toBeGreaterThan(20);
});
