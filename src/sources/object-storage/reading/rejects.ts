/** Finds the rows of a file that the engine cannot read, one after the other, without loading anything. */
import { ClickHouseError } from "../../../clickhouse/client.ts";
import { clickHouseCodes, isDataError } from "../../../clickhouse/error-codes.ts";
import { isObject, parsedJson } from "../../../lib/json.ts";
import type { InsertFailure, Query } from "../../contract/source.ts";
import { rowOf, shortMessage } from "../../messages/engine-message.ts";
import type { RejectedObjectRow } from "../declaration/durable.ts";
import type { ObjectFile } from "../stores/store.ts";
import { hasHeader, isRowFormat, type ObjectFormat } from "./formats.ts";
import type { ObjectStatements } from "./reading.ts";

/** Bad rows of one file that are recorded individually; further ones are recorded together. */
export const maxRecordedRows = 20;
const anyNumber = Number.MAX_SAFE_INTEGER;

export type Findings = {
  /** False: no row of the file can be read. */
  readonly readable: boolean;
  readonly rejected: readonly RejectedObjectRow[];
};

/** A file of which rows are looked for, and the engine that is asked. */
type Inspected = {
  readonly file: ObjectFile;
  readonly format: ObjectFormat;
  readonly reading: ObjectStatements;
  readonly query: Query;
  readonly signal: AbortSignal;
};

export async function findBadRows(inspected: Inspected, failure: InsertFailure): Promise<Findings> {
  const { file, format, reading } = inspected;
  const whole = { readable: false, rejected: [] };
  const isUnfit = failure.code === clickHouseCodes.CANNOT_CONVERT_TYPE;
  if (!isRowFormat(format)) return isUnfit ? await findUnfitRows(inspected) : whole;
  if (rowOf(failure.message) === undefined && !isUnfit) return whole;
  const rejected: RejectedObjectRow[] = [];
  let rowPerLine: Promise<boolean> | undefined;
  const isRowPerLine = () => {
    rowPerLine ??= hasRowPerLine(inspected);
    return rowPerLine;
  };
  for (let allowed = 0; allowed < maxRecordedRows; allowed += 1) {
    const problem = await tryCount(inspected, allowed);
    if (typeof problem === "number") return { readable: problem > 0, rejected };
    const row = rowOf(problem);
    if (row === undefined) return whole;
    rejected.push(await describeRow(inspected, row, problem, isRowPerLine));
  }
  const problem = await tryCount(inspected, anyNumber);
  if (typeof problem === "string") return whole;
  const rows = (await countAll(inspected)) - problem - rejected.length;
  const message = `${rows} further rows of this object could not be read and were left out.`;
  if (rows > 0) rejected.push({ origin: reading.nameOf(file), message, rows });
  return { readable: problem > 0, rejected };
}

/** The engine reports no positions of rows of a columnar file: they are counted. */
async function findUnfitRows({ file, format, reading, query, signal }: Inspected): Promise<Findings> {
  const { sql, ...options } = await reading.countUnfit(file, format, signal);
  const [counted] = await query(sql, options);
  const [rows, unfit] = [Number(counted?.rows ?? 0), Number(counted?.unfit ?? 0)];
  // An integer within an array, for example: no condition finds it.
  if (unfit === 0) return { readable: false, rejected: [] };
  const message = `${unfit} rows of this object have integers that do not fit their columns and were left out.`;
  return { readable: unfit < rows, rejected: [{ origin: reading.nameOf(file), message, rows: unfit }] };
}

/** The number of rows, or the engine's message when the file cannot be read even with that many bad rows skipped. */
async function tryCount(inspected: Inspected, allowed: number): Promise<string | number> {
  const { file, format, reading, query, signal } = inspected;
  const { sql, ...options } = await reading.count(file, format, allowed, signal);
  try {
    const [counted] = await query(sql, options);
    return Number(counted?.rows ?? 0);
  } catch (error) {
    const message = (error as Error).message;
    // An error other than a parser's does not concern this file; the batch is retried later.
    const isOfFile = rowOf(message) !== undefined || (error instanceof ClickHouseError && isDataError(error));
    if (!isOfFile) throw error;
    return message;
  }
}

async function countAll({ file, format, reading, query, signal }: Inspected): Promise<number> {
  const { sql, ...options } = await reading.countAll(file, format, signal);
  const [counted] = await query(sql, options);
  return Number(counted?.rows ?? 0);
}

/** Also finds what a replay needs, unless lines and rows of the file are not the same. */
async function describeRow(
  { file, format, reading, query, signal }: Inspected,
  row: number,
  message: string,
  isRowPerLine: () => Promise<boolean>,
): Promise<RejectedObjectRow> {
  const lineAt = async (index: number) => {
    const { sql, ...options } = await reading.line(file, format, index, signal);
    const [found] = await query(sql, options).catch(() => []);
    return found;
  };
  const header = hasHeader(format) ? 1 : 0;
  const found = await lineAt(row - 1 + header);
  const record = { origin: reading.nameOf(file), position: `row ${row}`, message: shortMessage(message) };
  if (found === undefined) return record;
  const raw = String(found.shown);
  const kept = { ...record, raw, size: Number(found.size) };
  if (found.whole !== 1 || found.text !== 1 || !isRowOnLine(format, raw)) return kept;
  if (!(await isRowPerLine())) return kept;
  const names = header === 0 ? undefined : await lineAt(0);
  if (header === 1 && (names === undefined || names.whole !== 1)) return kept;
  const facts = { format, path: reading.nameOf(file), size: file.size, etag: file.etag, time: Number(found.time) };
  return { ...kept, format: "text", facts: names === undefined ? facts : { ...facts, header: String(names.shown) } };
}

/** False for a line that is only a part of its row. */
function isRowOnLine(format: ObjectFormat, line: string): boolean {
  return !format.startsWith("JSON") || isObject(parsedJson(line));
}

async function hasRowPerLine(inspected: Inspected): Promise<boolean> {
  const { file, format, reading, query, signal } = inspected;
  const { sql, ...options } = await reading.countLines(file, format, signal);
  const [lines] = await query(sql, options).catch(() => []);
  const rows = await countAll(inspected).catch(() => undefined);
  return rows !== undefined && Number(lines?.rows) === rows + (hasHeader(format) ? 1 : 0);
}
