/** Who asks for a chart, what comes back, and what is known of it besides its rows. */
import type { Readable } from "node:stream";
import type { SourceRecord } from "../api/chart-sources.ts";
import { type ChartMeta, type ChartRequest, unknownMembersOf } from "../api/charts.ts";
import type { Summary } from "../clickhouse/client.ts";
import type { Format } from "./answer/answer.ts";
import { type Dated, keyOfRequest } from "./last-answers.ts";
import type { Buckets } from "./plan/buckets.ts";
import type { TimeRange } from "./plan/plan.ts";
import type { ChartTable } from "./tables/table.ts";
import type { Reader } from "./turns.ts";

export type Caller = Reader & {
  readonly format: Format;
  /** Entity tags of answers the caller has, from If-None-Match. */
  readonly known: readonly string[];
};

export type Answered = {
  /** Undefined when the caller has the answer already. A stream is to be read to its end or destroyed. */
  readonly body: readonly (string | Buffer)[] | Readable | undefined;
  /** Absent when an equal request may have another answer. */
  readonly etag: string | undefined;
  readonly cached: boolean;
  /** Rollups that were read instead of the sources' tables. */
  readonly rollups: readonly string[];
  /** Parts of the request that were possibly meant differently. */
  readonly warnings: readonly string[];
  /** What the engine read; undefined: unknown. */
  readonly read: Pick<Summary, "readRows" | "readBytes"> | undefined;
};

export type Outcome = Answered & Omit<Dated<never>, "value">;

/** The metadata of an answer. */
export function metaOf(
  outcome: Outcome,
  buckets: Buckets,
  { startMs, endMs }: TimeRange,
  elapsedMs: number,
): ChartMeta {
  return {
    bucketMs: buckets.sizeMs,
    firstBucketPartial: buckets.startOf(buckets.first) < startMs,
    lastBucketPartial: buckets.startOf(buckets.last + 1) > endMs + 1,
    rowsRead: outcome.read?.readRows ?? null,
    bytesRead: outcome.read?.readBytes ?? null,
    elapsedMs: Math.round(elapsedMs * 10) / 10,
    cache: cacheWord(outcome),
    asOf: new Date(outcome.asOfMs).toISOString(),
    rollups: [...outcome.rollups],
    warnings: [...outcome.warnings],
  };
}

/** Where the answer comes from, in one word. */
export function cacheWord({ cached, stale }: Pick<Outcome, "cached" | "stale">): ChartMeta["cache"] {
  return stale ? "stale" : cached ? "hit" : "miss";
}

/** Warnings about unknown members. */
export function warningsOf(request: ChartRequest): string[] {
  return unknownMembersOf(request).map((path) => `${path.slice(0, 200)}: is not a known member and has no effect`);
}

export function tagOf(key: string): string {
  return `"${key}"`;
}

type Read = { readonly source: SourceRecord; readonly table: string };

/** Everything an answer depends on besides the time of the request; undefined when a part is unknown. */
export function cacheKey(
  request: ChartRequest,
  caller: Caller,
  works: readonly Read[],
  states: readonly ChartTable[],
): string | undefined {
  if (states.some(({ version }) => version === undefined)) return undefined;
  const sources = works.map(({ source, table }, i) => [source.id, source.updatedAt, table, states[i]?.version]);
  return keyOfRequest([caller.organizationId, caller.format, asked(request), sources]);
}

/** The same without the versions of the tables, which are known only while the service runs. */
export function lastKeyOf(request: ChartRequest, caller: Caller, works: readonly Read[]): string {
  const sources = works.map(({ source, table }) => [source.id, source.updatedAt, table]);
  return keyOfRequest([caller.organizationId, caller.format, asked(request), sources]);
}

/** What decides the answer; whether the service may be woken for it does not. */
function asked({ wake: _, ...request }: ChartRequest) {
  return request;
}
