/**
 * Finds the malformed records of a text object, for the error table: cuts the text into records, has the engine parse
 * them in portions as the load does, and takes the portion apart where it complains. Reading is bounded; what lies
 * beyond the bounds is left out by the load all the same, and said to be.
 */
import { identifier, literal } from "../../clickhouse/sql.ts";
import type { RejectedRecord, SourceContext } from "../source.ts";
import { type Load, reader, replacedMark } from "./load.ts";
import { nameOf } from "./location.ts";
import { readShape } from "./shape.ts";

const maxBad = 100;
const windowLines = 20_000;
const maxWindows = 20;
/** Below the engine's limit for the text of a query, escapes included. */
const maxPortionBytes = 60_000;

export type Scan = {
  readonly rejected: readonly RejectedRecord[];
  /** A record that is not malformed was seen, or may lie where the scan did not look. */
  readonly anyGood: boolean;
};

type Query = SourceContext["query"];
type Row = { readonly line: number; readonly text: string };
type Portion = { readonly rows: readonly Row[] };

export async function scanBadRows(load: Load, query: Query, params: Readonly<Record<string, string>>): Promise<Scan> {
  const [object] = load.objects;
  const origin = nameOf(load.location, object?.key ?? "");
  const rejected: RejectedRecord[] = [];
  const withHeader = load.format === "CSVWithNames" || load.format === "TabSeparatedWithNames";
  let header: Row | undefined;
  let anyGood = false;
  let rest: Row[] = [];
  for (let window = 0; ; window += 1) {
    const lines = await readLines(load, query, params, window * windowLines);
    const last = lines.length < windowLines;
    let rows = recordsOf(load, [...rest, ...lines]);
    // The last record may go on in the next window.
    rest = last ? [] : rows.slice(-1);
    if (!last) rows = rows.slice(0, -1);
    if (withHeader && header === undefined) header = rows.shift();
    for (const portion of portions(rows)) {
      const bad = await badOf(load, query, header, portion.rows, maxBad - rejected.length);
      if (bad.length < portion.rows.length) anyGood = true;
      for (const { row, message } of bad) rejected.push({ origin, position: String(row.line), message, raw: row.text });
      if (rejected.length >= maxBad) {
        const message = `There may be more malformed records after the first ${maxBad}; none of them is loaded.`;
        return { rejected: [...rejected, { origin, message }], anyGood };
      }
    }
    if (last) return { rejected, anyGood };
    if (window + 1 === maxWindows) {
      const message = `Malformed records after line ${maxWindows * windowLines} are not listed; none of them is loaded.`;
      return { rejected: [...rejected, { origin, message }], anyGood: true };
    }
  }
}

async function readLines(
  load: Load,
  query: Query,
  params: Readonly<Record<string, string>>,
  offset: number,
): Promise<Row[]> {
  const [object] = load.objects;
  const source = reader(load, "LineAsString", "line String");
  const path = literal(nameOf(load.location, object?.key ?? ""));
  const sql = `SELECT line FROM ${source} WHERE _path = ${path} AND throwIf(position(_etag, ${literal(object?.etag ?? "")}) = 0, ${literal(replacedMark)}) = 0
    LIMIT ${windowLines} OFFSET ${offset} SETTINGS max_threads = 1, max_parsing_threads = 1`;
  const rows = await query(sql, params);
  return rows.map((row, index) => ({ line: offset + index + 1, text: String(row.line) }));
}

/** Lines are records, but for quoted CSV fields that go on in the next line. */
function recordsOf(load: Load, lines: readonly Row[]): Row[] {
  const filled = (rows: Row[]) => rows.filter(({ text }) => text.trim() !== "");
  if (!load.format.startsWith("CSV")) return filled([...lines]);
  const records: Row[] = [];
  let open: Row | undefined;
  for (const row of lines) {
    const record: Row = open === undefined ? row : { line: open.line, text: `${open.text}\n${row.text}` };
    const quotes = record.text.split('"').length - 1;
    open = quotes % 2 === 1 ? record : undefined;
    if (open === undefined) records.push(record);
  }
  if (open !== undefined) records.push(open);
  return filled(records);
}

function* portions(rows: readonly Row[]): Generator<Portion> {
  let from = 0;
  let bytes = 0;
  for (const [index, row] of rows.entries()) {
    const size = Buffer.byteLength(row.text) + 1;
    if (index > from && bytes + size > maxPortionBytes) {
      yield { rows: rows.slice(from, index) };
      from = index;
      bytes = 0;
    }
    bytes += size;
  }
  if (from < rows.length) yield { rows: rows.slice(from) };
}

type Bad = { readonly row: Row; readonly message: string };

/** The engine names the first bad row of what it is given; what stands before it is good. */
async function badOf(
  load: Load,
  query: Query,
  header: Row | undefined,
  rows: readonly Row[],
  limit: number,
): Promise<Bad[]> {
  const bad: Bad[] = [];
  let rest = rows;
  while (rest.length > 0 && bad.length < limit) {
    const message = await complaint(load, query, header, rest);
    if (message === undefined) break;
    const named = Number(/\(at row (\d+)\)/.exec(message)?.[1] ?? 0) - 1;
    const index = rest[named] === undefined ? await firstBad(load, query, header, rest) : named;
    bad.push({ row: rest[index] as Row, message });
    rest = rest.slice(index + 1);
  }
  return bad;
}

/** Halves the rows until one is left, where the engine does not say which it is. */
async function firstBad(load: Load, query: Query, header: Row | undefined, rows: readonly Row[]): Promise<number> {
  let from = 0;
  let to = rows.length;
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    const lower = await complaint(load, query, header, rows.slice(from, middle));
    if (lower === undefined) from = middle;
    else to = middle;
  }
  return from;
}

async function complaint(
  load: Load,
  query: Query,
  header: Row | undefined,
  rows: readonly Row[],
): Promise<string | undefined> {
  const shape = readShape(load.format, load.columns);
  const lines = [...(header === undefined ? [] : [header]), ...rows].map(({ text }) => text);
  const text = `${lines.join("\n")}\n`;
  const settings = Object.entries(load.settings)
    .filter(([name]) => /^(date_time_input_format|format_|input_format_)/.test(name))
    .map(([name, value]) => `${identifier(name)} = ${literal(String(value))}`);
  const source = `format(${identifier(shape.format)}, ${literal(shape.structure)}, ${literal(text)})`;
  const sql = `SELECT count() AS rows FROM (SELECT ignore(*) AS seen FROM ${source}) WHERE seen = 0
    SETTINGS ${[...settings, "optimize_count_from_files = 0", "max_threads = 1"].join(", ")}`;
  try {
    await query(sql);
    return undefined;
  } catch (error) {
    const name = error instanceof Error ? error.name : "";
    if (name !== "RefusedInsert") throw error;
    return (error as Error).message;
  }
}
