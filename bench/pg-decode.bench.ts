/**
 * Replication messages to TabSeparated, against the simple way: an object of strings for each row. Rates are per second
 * of processor time, so that other load matters little.
 */
import { decode } from "../src/sources/relational-db/protocol/pgoutput.ts";
import { tupleOf } from "../src/sources/relational-db/protocol/tuple.ts";
import { TsvRowWriter } from "../src/sources/relational-db/stream/tsv-rows.ts";
import { type BenchResult, median, round } from "./bench.ts";

export const description = "decode pgoutput inserts of six short columns and encode them as TabSeparated, one core";

const rows = 500_000;
const columns = 6;
const rounds = 5;
const batchRows = 100_000;

export async function run(): Promise<BenchResult> {
  const messages = makeMessages();
  const bytes = messages.reduce((sum, message) => sum + message.length, 0);
  const ways = { ours: encode, plain: encodePlainly };
  const rates: Record<keyof typeof ways, number[]> = { ours: [], plain: [] };
  const lengths = new Set<number>();
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, way] of Object.entries(ways) as [keyof typeof ways, typeof encode][]) {
      const start = process.cpuUsage();
      lengths.add(way(messages));
      const { user, system } = process.cpuUsage(start);
      // The first round is warm-up.
      if (round > 0) rates[name].push(rows / ((user + system) / 1e6));
    }
  }
  if (lengths.size !== 1) throw new Error("the two ways give different bytes");
  const [ours, plain] = [median(rates.ours), median(rates.plain)];
  const shown = ([way, rate]: [string, number]) => ({
    way,
    "M rows/s": round(rate / 1e6),
    "MB/s": round((rate * bytes) / rows / 1e6, 0),
  });
  return {
    rows: [["millrace", ours] as [string, number], ["object per row", plain] as [string, number]].map(shown),
    summary: { ratio: round(ours / plain), rowsPerSecond: Math.round(ours), goal: 1_000_000 },
  };
}

function makeMessages(): Buffer[] {
  const head = Buffer.from([0x49, 0, 0, 0x40, 0x10, 0x4e, 0, columns]);
  return Array.from({ length: rows }, (_, id) => {
    const values = [
      `${id}`,
      `${id % 1000}`,
      "2024-01-02 03:04:05.678901",
      `name ${id}`,
      `${id}.25`,
      id % 9 ? "a\tb" : null,
    ];
    return Buffer.concat([head, tupleOf(values).message]);
  });
}

function encode(messages: readonly Buffer[]): number {
  const writer = new TsvRowWriter([0, 1, 2, 3, 4, 5], columns, 1 << 24);
  let bytes = 0;
  for (const message of messages) {
    const decoded = decode(message);
    if (decoded.kind === "insert") writer.append(decoded.row, "\t1234567890123456\t0");
    if (writer.rows === batchRows) bytes += writer.take().length;
  }
  return bytes + writer.take().length;
}

function encodePlainly(messages: readonly Buffer[]): number {
  const names = ["id", "kind", "at", "name", "price", "note"];
  const escapes: Record<string, string> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
  let lines: string[] = [];
  let bytes = 0;
  const flush = () => {
    bytes += Buffer.from(lines.join("")).length;
    lines = [];
  };
  for (const message of messages) {
    const row: Record<string, string | null> = {};
    let at = 8;
    for (const name of names) {
      if (message[at] === 0x6e) {
        row[name] = null;
        at += 1;
        continue;
      }
      const length = message.readInt32BE(at + 1);
      row[name] = message.toString("utf8", at + 5, at + 5 + length);
      at += 5 + length;
    }
    const texts = names.map((name) => row[name]?.replaceAll(/[\\\t\n\r]/g, (char) => escapes[char] as string) ?? "\\N");
    lines.push(`${texts.join("\t")}\t1234567890123456\t0\n`);
    if (lines.length === batchRows) flush();
  }
  flush();
  return bytes;
}
