/** From what the engine answered to the text of an answer. Plain data in and text out: it runs in any thread. */
import type { ChartRequest } from "../../api/charts.ts";
import { AppError } from "../../lib/errors.ts";
import { parseFormula } from "../formula.ts";
import { Buckets } from "../plan/buckets.ts";
import type { Cell } from "../plan/cells.ts";
import type { Series } from "../plan/plan.ts";
import { type Format, write } from "./answer.ts";
import { decodeRows, type RowDecoding } from "./row-decoding.ts";
import { refuseTooMany } from "./rows.ts";
import { shape } from "./shape.ts";

export type AnswerTask = {
  readonly request: ChartRequest;
  readonly format: Format;
  /** What each query answered as `FORMAT JSONCompact`, in chunks. */
  readonly plans: readonly {
    readonly series: readonly Series[];
    readonly decoding: RowDecoding;
    readonly bytes: readonly Uint8Array[];
  }[];
};

export type AnswerText = { readonly chunks: Iterable<string>; readonly rows: number };

/** The text of the answer, in chunks, and its number of rows. Throws AppError. */
export function answerOf({ request, format, plans }: AnswerTask): AnswerText {
  const range = { startMs: request.startTime, endMs: request.endTime };
  const buckets = new Buckets({ ...range, granularity: request.granularity, zone: request.timezone });
  const formula = request.formula === undefined ? undefined : parseFormula(request.formula, request.series.length);
  const results = plans.map(({ series, decoding, bytes }) => {
    const rows = decodeRows(decoding, dataOf(bytes));
    refuseTooMany(rows.length);
    return { series, rows };
  });
  const answer = shape(results, { request, range, buckets, formula });
  return { chunks: write(answer, format, request, buckets), rows: answer.rows.length };
}

/** Bytes of engine answers up to which the work is done where it is asked for: about ten milliseconds. */
const smallBytes = 131_072;
/** Rows of an answer up to which filling its gaps is. */
const fewRows = 10_000;

/** Whether the work is so little that handing it to another thread costs more. */
export function isSmall({ request, plans }: AnswerTask): boolean {
  const bytes = plans.reduce((sum, plan) => sum + lengthOf(plan.bytes), 0);
  if (bytes > smallBytes) return false;
  const grouped = (request.series[0]?.groupBy.length ?? 0) > 0;
  if (request.fill === "none" || !grouped) return true;
  const range = { startMs: request.startTime, endMs: request.endTime };
  const { count } = new Buckets({ ...range, granularity: request.granularity, zone: request.timezone });
  // A row with a group has ten bytes or more.
  return (bytes / 10) * count <= fewRows;
}

export function lengthOf(bytes: readonly Uint8Array[]): number {
  return bytes.reduce((sum, chunk) => sum + chunk.length, 0);
}

function dataOf(bytes: readonly Uint8Array[]): Cell[][] {
  try {
    return (JSON.parse(Buffer.concat(bytes).toString()) as { data: Cell[][] }).data;
  } catch (cause) {
    throw new AppError("QUERY_FAILED", "the engine's response ended early", { cause });
  }
}
