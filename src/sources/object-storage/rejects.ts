/** Finds out which rows of a file the engine cannot read, one after the other, without loading anything. */
import type { InsertFailure, Query, RejectedRecord } from "../source.ts";
import { hasHeader, isRowFormat, type ObjectFormat } from "./formats.ts";
import type { Reading } from "./reading.ts";
import type { ObjectFile } from "./store.ts";

/** Bad rows of one file that are recorded one by one; the others are recorded together. */
export const maxRecordedRows = 20;
const anyNumber = Number.MAX_SAFE_INTEGER;

export type Findings = {
  /** False: the file as a whole cannot be read. */
  readonly readable: boolean;
  readonly badRows: number;
  readonly rejected: readonly RejectedRecord[];
};

export async function findBadRows(
  file: ObjectFile,
  format: ObjectFormat,
  failure: InsertFailure,
  reading: Reading,
  query: Query,
  signal: AbortSignal,
): Promise<Findings> {
  const whole = { readable: false, badRows: 0, rejected: [] };
  if (!isRowFormat(format) || rowOf(failure.message) === undefined) return whole;
  const rejected: RejectedRecord[] = [];
  for (let allowed = 0; allowed < maxRecordedRows; allowed += 1) {
    const problem = await tryCount(file, format, allowed, reading, query, signal);
    if (problem === undefined) return { readable: true, badRows: rejected.length, rejected };
    const row = rowOf(problem);
    if (row === undefined) return whole;
    rejected.push(await describeRow(file, format, row, problem, reading, query, signal));
  }
  const problem = await tryCount(file, format, anyNumber, reading, query, signal);
  if (problem !== undefined) return whole;
  rejected.push({ origin: file.key, message: "Further rows of this object could not be read and were left out." });
  return { readable: true, badRows: rejected.length, rejected };
}

/** The engine's message when the file cannot be read with this number of bad rows left out. */
async function tryCount(
  file: ObjectFile,
  format: ObjectFormat,
  allowed: number,
  reading: Reading,
  query: Query,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { sql, ...options } = await reading.count(file, format, allowed, signal);
  try {
    await query(sql, options);
    return undefined;
  } catch (error) {
    const message = (error as Error).message;
    // Anything else than a parser's complaint is not about this file; the batch is tried again later.
    if (rowOf(message) === undefined && !(error as { permanent?: boolean }).permanent) throw error;
    return message;
  }
}

async function describeRow(
  file: ObjectFile,
  format: ObjectFormat,
  row: number,
  message: string,
  reading: Reading,
  query: Query,
  signal: AbortSignal,
): Promise<RejectedRecord> {
  const { sql, ...options } = await reading.line(file, row - 1 + (hasHeader(format) ? 1 : 0), signal);
  const [found] = await query(sql, options).catch(() => []);
  return {
    origin: file.key,
    position: `row ${row}`,
    message: shortMessage(message),
    ...(found === undefined ? {} : { raw: String(found.line) }),
  };
}

function rowOf(message: string): number | undefined {
  const row = /\(at row (\d+)\)/.exec(message)?.[1];
  return row === undefined ? undefined : Number(row);
}

/** The engine's sentence without what it repeats about the query and the file. */
export function shortMessage(message: string): string {
  return message
    .replace(/^Code: \d+\. DB::Exception: /, "")
    .replace(/:? ?\(Already have \d+ errors?.*?rows\)/s, "")
    .replace(/:? ?\(at row \d+\)[\s\S]*$/, "")
    .replace(/: ?\(in file\/uri[\s\S]*$/, "")
    .replace(/: While executing[\s\S]*$/, "")
    .slice(0, 2000);
}
