/** Writing an answer: one JSON document, newline-delimited JSON, or CSV. Text is made in chunks, never all at once. */
import type { ChartRequest } from "../../api/charts.ts";
import type { Buckets } from "../plan/buckets.ts";
import type { Cell } from "../plan/cells.ts";
import type { Row } from "./rows.ts";

export type ChartAnswer = {
  readonly rows: readonly Row[];
  /** Names of the values: `series_0`, `series_1`, `formula`. */
  readonly columns: readonly string[];
  /** Whether groups were left out; undefined unless a limit was asked for. */
  readonly truncated: boolean | undefined;
  /** How many groups are in the rows of the others; undefined unless these were asked for. */
  readonly otherGroups?: number | undefined;
};

export const formats = {
  json: "application/json; charset=utf-8",
  ndjson: "application/x-ndjson; charset=utf-8",
  csv: "text/csv; charset=utf-8",
} as const;
export type Format = keyof typeof formats;

const rowsPerChunk = 1000;

/** The format that an Accept header asks for; JSON unless another is preferred to it. */
export function formatFor(accept: string | undefined): Format {
  const wanted: { format: Format; weight: number }[] = [];
  for (const part of (accept ?? "").split(",").slice(0, 50)) {
    const [type = "", ...parameters] = part.trim().toLowerCase().split(";");
    const weight = Number(/^\s*q\s*=\s*([\d.]+)\s*$/.exec(parameters.find((p) => p.includes("q=")) ?? "")?.[1] ?? 1);
    const format = byType[type.trim()];
    if (format !== undefined && weight > 0) wanted.push({ format, weight });
  }
  wanted.sort((a, b) => b.weight - a.weight);
  return wanted[0]?.format ?? "json";
}

const byType: Readonly<Record<string, Format>> = {
  "application/json": "json",
  "*/*": "json",
  "application/*": "json",
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
  "application/jsonl": "ndjson",
  "text/csv": "csv",
};

/**
 * The answer's text in chunks of at most a thousand rows; of a part that is not the first, without what comes first.
 */
export function* write(
  answer: ChartAnswer,
  format: Format,
  request: ChartRequest,
  buckets: Buckets,
  first = true,
): Generator<string> {
  const toObject = rowWriter(answer, request, buckets);
  if (format === "csv") {
    yield* writeCsv(answer, request, buckets, first);
    return;
  }
  if (format === "json") yield '{"data":[';
  for (let from = 0; from < answer.rows.length; from += rowsPerChunk) {
    const chunk = answer.rows.slice(from, from + rowsPerChunk).map((row) => JSON.stringify(toObject(row)));
    if (format === "ndjson") yield `${chunk.join("\n")}\n`;
    else yield (from === 0 ? "" : ",") + chunk.join(",");
  }
  if (format === "json") yield `]${tailOf(answer)}}`;
}

function tailOf({ truncated, otherGroups }: ChartAnswer): string {
  if (truncated === undefined) return "";
  return `,"truncated":${truncated}${otherGroups === undefined ? "" : `,"otherGroups":${otherGroups}`}`;
}

/** Column mode adds what the HyperDX API's column rows carry, under the names its callers read. */
function rowWriter(answer: ChartAnswer, request: ChartRequest, buckets: Buckets): (row: Row) => object {
  const groupNames = request.series[0]?.groupBy ?? [];
  const dataNames = answer.columns.map((name) => `${name}.data`);
  const column = request.seriesReturnType === "column";
  const starts = new Map<number, number>();
  return ({ bucket, group, values, others }) => {
    let start = starts.get(bucket);
    if (start === undefined) {
      start = buckets.startOf(bucket);
      starts.set(bucket, start);
    }
    // Without a prototype, so that a group named __proto__ is a member like any other.
    const object: Record<string, unknown> = Object.create(null);
    if (column) for (const [i, name] of groupNames.entries()) object[name] = group[i];
    object.ts_bucket = start;
    object.group = group;
    if (others === true) object.others = true;
    for (const [i, name] of dataNames.entries()) object[name] = values[i];
    if (column) {
      for (const [i, name] of answer.columns.entries()) object[name] = values[i];
      object.__hdx_time_bucket = new Date(start).toISOString().replace(".000Z", "Z");
    }
    return object;
  };
}

function* writeCsv(answer: ChartAnswer, request: ChartRequest, buckets: Buckets, first: boolean): Generator<string> {
  const groupNames = request.series[0]?.groupBy ?? [];
  const names = ["ts_bucket", ...groupNames, ...answer.columns.map((name) => `${name}.data`)];
  if (first) yield `${names.map(csvCell).join(",")}\r\n`;
  for (let from = 0; from < answer.rows.length; from += rowsPerChunk) {
    yield answer.rows
      .slice(from, from + rowsPerChunk)
      .map(
        ({ bucket, group, values, others }) =>
          `${[buckets.startOf(bucket), ...(others === true ? groupNames.map(() => null) : group), ...values].map(csvCell).join(",")}\r\n`,
      )
      .join("");
  }
}

/** RFC 4180. Null is an empty cell. */
function csvCell(cell: Cell | number): string {
  if (cell === null) return "";
  const text = typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
