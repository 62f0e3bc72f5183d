/** Who asks for a chart, what comes back, and what is known of it besides its rows. */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { SourceRecord } from "../api/chart-sources.ts";
import { type ChartMeta, type ChartRequest, unknownMembersOf } from "../api/charts.ts";
import type { Summary } from "../clickhouse/client.ts";
import type { Format } from "./answer/answer.ts";
import type { Buckets } from "./plan/buckets.ts";
import type { TimeRange } from "./plan/plan.ts";
import type { ChartTable } from "./tables/table.ts";

export type Caller = {
  readonly organizationId: string;
  readonly credentialId: string;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
  readonly format: Format;
  /** Entity tags of answers the caller has, from If-None-Match. */
  readonly known: readonly string[];
};

export type Outcome = {
  /** Undefined when the caller has the answer already. A stream is to be read to its end or destroyed. */
  readonly body: readonly (string | Buffer)[] | Readable | undefined;
  /** Absent when an equal request may have another answer. */
  readonly etag: string | undefined;
  readonly cached: boolean;
  /** Rollups that were read instead of the sources' tables. */
  readonly rollups: readonly string[];
  /** What may not be meant as it was understood. */
  readonly warnings: readonly string[];
  /** What the engine read; undefined where it does not tell. */
  readonly read: Pick<Summary, "readRows" | "readBytes"> | undefined;
};

/** What is said of an answer to those who ask. */
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
    cache: outcome.cached ? "hit" : "miss",
    rollups: [...outcome.rollups],
    warnings: [...outcome.warnings],
  };
}

/** What is said of members that nobody knows. */
export function warningsOf(request: ChartRequest): string[] {
  return unknownMembersOf(request).map((path) => `${path.slice(0, 200)}: is not a known member and has no effect`);
}

export function tagOf(key: string): string {
  return `"${key}"`;
}

type Read = { readonly source: SourceRecord; readonly table: string };

/** Everything an answer depends on besides the time at which it is asked for; undefined when that cannot be told. */
export function cacheKey(
  request: ChartRequest,
  caller: Caller,
  works: readonly Read[],
  states: readonly ChartTable[],
): string | undefined {
  if (states.some(({ version }) => version === undefined)) return undefined;
  const sources = works.map(({ source, table }, i) => [source.id, source.updatedAt, table, states[i]?.version]);
  const all = JSON.stringify([caller.organizationId, caller.format, request, sources]);
  return createHash("sha256").update(all).digest("base64url");
}
