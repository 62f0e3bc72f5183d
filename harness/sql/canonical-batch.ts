/** Runs many texts through the engine's formatter and lexer at once: one statement at a time would take minutes. */
import { buffer } from "node:stream/consumers";
import type { ClickHouseClient } from "../../src/clickhouse/client.ts";

export type Canonical = {
  /** The canonical text (latin1); undefined when the engine cannot parse the statement. */
  readonly text: string | undefined;
  /** The canonical text of the canonical text. */
  readonly again: string | undefined;
  /** Start and end of the quoted tokens of the text itself. */
  readonly quotes: readonly (readonly [number, number])[];
  /** Start and end of the engine's tokens in the canonical text. */
  readonly tokens: readonly (readonly [number, number])[];
};

const query = `SELECT hex(s), f IS NULL, hex(ifNull(f, '')), g IS NULL, hex(ifNull(g, '')),
    arrayMap(x -> (x.1, x.2), arrayFilter(x -> x.3 != 'Whitespace', tokenizeQuery(ifNull(f, '')))),
    arrayMap(x -> (x.1, x.2), arrayFilter(x -> x.3 IN ('QuotedIdentifier', 'StringLiteral', 'HereDoc'), tokenizeQuery(s)))
  FROM (SELECT s, formatQuerySingleLineOrNull(s) AS f, formatQuerySingleLineOrNull(f) AS g
    FROM (SELECT arrayJoin([LIST]) AS s)) FORMAT JSONCompactEachRow`;

type Ranges = [number | string, number | string][];
type Row = [string, 0 | 1, string, 0 | 1, string, Ranges, Ranges];

/** By text; texts are latin1. */
export async function canonicalBatch(
  client: ClickHouseClient,
  texts: readonly string[],
): Promise<Map<string, Canonical>> {
  const list = texts.map((text) => `'${text.replace(/[\\']/g, "\\$&")}'`).join(", ");
  const statement = Buffer.from(
    query.replace("LIST", () => list),
    "latin1",
  );
  const settings = { max_query_size: 100_000_000, log_queries: 0, output_format_json_quote_64bit_integers: 0 };
  const body = (await buffer(await client.stream("", { body: statement, settings }))).toString();
  const found = new Map<string, Canonical>();
  for (const line of body.split("\n").filter((text) => text !== "")) {
    const [source, isNull, text, isAgainNull, again, tokens, quotes] = JSON.parse(line) as Row;
    found.set(bytes(source), {
      text: isNull === 1 ? undefined : bytes(text),
      again: isAgainNull === 1 ? undefined : bytes(again),
      tokens: numbers(tokens),
      quotes: numbers(quotes),
    });
  }
  return found;
}

function numbers(ranges: Ranges): [number, number][] {
  return ranges.map(([from, to]) => [Number(from), Number(to)]);
}

function bytes(hex: string): string {
  return Buffer.from(hex, "hex").toString("latin1");
}
