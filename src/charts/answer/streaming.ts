/**
 * Answers too long to keep: their rows go on to the caller as the engine sends them. What fails by then cannot be told
 * by a status any more, so the answer breaks off and never looks whole.
 */
import { Readable } from "node:stream";
import { AppError } from "../../lib/errors.ts";
import { engineError } from "../errors.ts";
import type { Cell, PlanRow } from "../plan/cells.ts";
import type { QueryPlan } from "../plan/plan.ts";
import { type Format, write } from "./answer.ts";
import { decodeRows } from "./row-decoding.ts";
import { type AnswerRequest, shape } from "./shape.ts";

/** Rows of a plan that are still to come. */
export type RemainingRows = {
  readonly batches: AsyncIterator<PlanRow[]>;
  /** Ends the query. */
  readonly stop: () => void;
};

/**
 * Whether the rows of one query over rows may be answered one after another: lines of text, and nothing in them depends
 * on rows that come later.
 */
export function mayStream({ request: { series, limit, fill } }: AnswerRequest, format: Format): boolean {
  const grouped = (series[0]?.groupBy.length ?? 0) > 0;
  return format !== "json" && grouped && limit === undefined && fill === "none";
}

/** Text of the engine that one query of an answer may bring, unless it is passed on as it comes. */
const maxAnswerBytes = 268_435_456;

/** A whole answer of the engine, in chunks. Throws AppError when it is larger than what may be held. */
export async function allOf(response: Readable): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new AppError("QUERY_FAILED", "the answer is larger than allowed; group by less");
    chunks.push(chunk);
  }
  return chunks;
}

/** The rows of `FORMAT JSONCompactEachRow`, in batches as they arrive. Throws AppError when the engine breaks off. */
export async function* batchesOf(
  response: Readable,
  plan: Pick<QueryPlan, "decoding" | "fromCaller">,
): AsyncGenerator<PlanRow[], undefined> {
  let begun = "";
  try {
    for await (const chunk of response.setEncoding("utf8")) {
      const text = begun + chunk;
      // Line breaks inside values are escaped.
      const end = text.lastIndexOf("\n");
      begun = text.slice(end + 1);
      if (end >= 0)
        yield decodeRows(plan.decoding, JSON.parse(`[${text.slice(0, end).replaceAll("\n", ",")}]`) as Cell[][]);
    }
  } catch (error) {
    throw error instanceof SyntaxError ? brokenOff(error) : engineError(error, plan.fromCaller);
  }
  if (begun !== "") throw brokenOff(begun);
}

function brokenOff(cause: unknown): AppError {
  return new AppError("QUERY_FAILED", "the engine's response ended early", { cause });
}

/** The text of an answer whose first rows are here. Its end, or being destroyed, ends the query. */
export function streamed(
  { rows, rest, plan }: { rows: readonly PlanRow[]; rest: RemainingRows; plan: QueryPlan },
  chart: AnswerRequest,
  format: Format,
): Readable {
  const { request, buckets } = chart;
  const textOf = (some: readonly PlanRow[], first: boolean) =>
    write(shape([{ series: plan.series, rows: some }], chart), format, request, buckets, first);
  async function* text() {
    yield* textOf(rows, true);
    for (;;) {
      const next = await rest.batches.next();
      if (next.done === true) return;
      yield* textOf(next.value, false);
    }
  }
  return Readable.from(text()).once("close", rest.stop);
}
