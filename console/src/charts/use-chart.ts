/** The answer to a chart. Nothing here wakes a service, unless a wake was asked for. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { call, type OperationResult } from "../api/client.ts";
import type { ApiError } from "../api/error.ts";
import { LastValues } from "../lib/last-values.ts";
import { zoneStore } from "../lib/zone.ts";
import { type ChartDefinition, missingIn, requestOf } from "./definition.ts";
import type { Bounds } from "./time-range.ts";

export type ChartAnswer = OperationResult<"queryChart">;

type Options = {
  readonly wake?: "auto" | "never";
  readonly enabled?: boolean;
  /** By which days are cut; default: the zone of the console. */
  readonly timezone?: string;
};

type Body = ReturnType<typeof requestOf> | undefined;

/** The answer before, until the new one is there: not where one of both has rows per bucket or per other groups. */
export function answerBefore(before: ChartAnswer | undefined, asked: Body, next: Body): ChartAnswer | undefined {
  return rowsOf(asked) === rowsOf(next) ? before : undefined;
}

function rowsOf(body: Body): string {
  return body?.granularity === "none" ? JSON.stringify(body.series[0]?.groupBy) : "buckets";
}

/** Asked once per definition and range. */
export function useChart(
  definition: ChartDefinition,
  bounds: Bounds | undefined,
  { wake = "never", enabled = true, timezone = zoneStore.get() }: Options = {},
): UseQueryResult<ChartAnswer, ApiError> {
  const isComplete = bounds !== undefined && missingIn(definition) === undefined && definition.sourceId !== "";
  const body = isComplete ? requestOf(definition, bounds, timezone, wake) : undefined;
  return useQuery<ChartAnswer, ApiError, ChartAnswer, readonly ["queryChart", Body]>({
    queryKey: ["queryChart", body],
    queryFn: ({ signal }) => answerOf(body as NonNullable<Body>, signal),
    enabled: enabled && body !== undefined,
    placeholderData: (before, query) => answerBefore(before, query?.queryKey[1], body),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
}

/** The rest of very many groups is more than an answer may hold: then the groups alone are asked for. */
async function answerOf(body: NonNullable<Body>, signal: AbortSignal): Promise<ChartAnswer> {
  try {
    return await call("queryChart", { params: {}, body }, signal);
  } catch (error) {
    const { others, ...rest } = body;
    if (others !== true || (error as ApiError).code !== "QUERY_FAILED") throw error;
    return await call("queryChart", { params: {}, body: rest }, signal);
  }
}

type Kept = { readonly answer: ChartAnswer; readonly bounds: Bounds };

/** By definition: the last answer of each chart since the page was opened. */
const lastAnswers = new LastValues<Kept>(200);

/**
 * The newest answer with its range, also while the service does not run: then it is that of an earlier range, and
 * `isKept`. The server has kept answers too, but only for the same range.
 */
export function useKeptAnswer(
  definition: ChartDefinition,
  query: UseQueryResult<ChartAnswer, ApiError>,
  bounds: Bounds | undefined,
): (Kept & { readonly isKept: boolean }) | undefined {
  const key = JSON.stringify(definition);
  const { data, error, isPlaceholderData } = query;
  if (data !== undefined && bounds !== undefined) {
    if (!isPlaceholderData) lastAnswers.set(key, { answer: data, bounds });
    return { answer: data, bounds, isKept: false };
  }
  const kept = error?.code === "SERVICE_ASLEEP" ? lastAnswers.get(key) : undefined;
  return kept === undefined ? undefined : { ...kept, isKept: true };
}
