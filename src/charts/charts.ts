/**
 * Answers chart requests: finds the sources, plans one query per source, runs them in parallel and shapes the answer.
 * Every query is read-only and bounded in time, memory and rows; it ends when the caller goes away.
 */
import { createHash } from "node:crypto";
import type { SourceRecord } from "../api/chart-sources.ts";
import type { SeriesRequest } from "../api/charts.ts";
import type { ClickHouseClient } from "../clickhouse/client.ts";
import { type ChildAbort, childOf } from "../lib/abort.ts";
import { AppError } from "../lib/errors.ts";
import type { ChartSourceStore } from "../store/chart-sources.ts";
import { type Answer, type Format, write } from "./answer.ts";
import { Buckets } from "./buckets.ts";
import { AnswerCache } from "./cache.ts";
import { at, badRequest, engineError } from "./errors.ts";
import { planEvents } from "./events.ts";
import { type Formula, parseFormula } from "./formula.ts";
import { TokenGate } from "./gate.ts";
import type { Cell, PlanInput, QueryPlan, Series } from "./plan.ts";
import {
  fillGaps,
  limitGroups,
  maxRows,
  mergePlans,
  type PlanResult,
  ratioOf,
  refuseTooMany,
  withFormula,
} from "./rows.ts";
import { sourceRecord } from "./sources.ts";
import { type TableState, Tables } from "./table.ts";
import { isTimeZone } from "./timezone.ts";

/** Connects to a service, waking an idle one. Released when the query is over. */
export type ClientFor = (
  serviceId: string,
  signal: AbortSignal,
) => Promise<{ readonly client: ClickHouseClient; release(): void }>;

export type ChartLimits = {
  /** Time of one query in the engine. */
  readonly timeMs: number;
  readonly memoryBytes: number;
  readonly rowsToRead: number;
  readonly runningPerToken: number;
  readonly waitingPerToken: number;
};

export type ChartDeps = {
  readonly sources: Pick<ChartSourceStore, "find">;
  readonly clientFor: ClientFor;
  readonly limits: ChartLimits;
};

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
  /** Undefined when the caller has the answer already. */
  readonly body: Iterable<string> | undefined;
  /** Absent when an equal request may have another answer. */
  readonly etag: string | undefined;
  readonly cached: boolean;
  /** Rollups that were read instead of the sources' tables. */
  readonly rollups: readonly string[];
};

/** The engine gets this long beyond its own limit to say that time is up. */
const graceMs = 5_000;
const cacheBytes = 64 * 1024 * 1024;
const cacheTtlMs = 60_000;
const maxKeptRows = 50_000;

type Kept = { readonly body: readonly string[]; readonly rollups: readonly string[] };
type Work = { readonly source: SourceRecord; readonly table: string; readonly series: readonly Series[] };
type Prepared = Work & TableState & { readonly client: ClickHouseClient; release(): void };
type Asked = { readonly request: SeriesRequest; readonly range: PlanInput["range"]; readonly buckets: Buckets };

export class Charts {
  readonly #deps: ChartDeps;
  readonly #gate: TokenGate;
  readonly #tables = new Tables();
  readonly #cache = new AnswerCache<Kept>({ bytes: cacheBytes, ttlMs: cacheTtlMs });

  constructor(deps: ChartDeps) {
    this.#deps = deps;
    this.#gate = new TokenGate({ running: deps.limits.runningPerToken, waiting: deps.limits.waitingPerToken });
  }

  /** Answers one request. Throws AppError. */
  async query(request: SeriesRequest, caller: Caller): Promise<Outcome> {
    if (!isTimeZone(request.timezone)) throw badRequest("timezone", "is not an IANA time zone");
    const range = { startMs: request.startTime, endMs: request.endTime };
    const buckets = new Buckets({ ...range, granularity: request.granularity, zone: request.timezone });
    const formulaText = request.formula;
    const formula =
      formulaText === undefined ? undefined : at("formula", () => parseFormula(formulaText, request.series.length));
    const works = await this.#works(request, caller.organizationId);
    const leave = await this.#gate.enter(caller.credentialId, caller.signal);
    const abort = childOf(caller.signal);
    const timer = setTimeout(() => abort.abort(outOfTime()), this.#deps.limits.timeMs + graceMs);
    const prepared: Prepared[] = [];
    try {
      await together(
        works.map(async (work) => prepared.push(await this.#prepare(work, abort.signal))),
        abort.abort,
      );
      return await this.#answer({ request, range, buckets }, formula, { caller, prepared, abort });
    } finally {
      for (const { release } of prepared) release();
      clearTimeout(timer);
      abort[Symbol.dispose]();
      leave();
    }
  }

  async #answer(
    asked: Asked,
    formula: Formula | undefined,
    { caller, prepared, abort }: { caller: Caller; prepared: readonly Prepared[]; abort: ChildAbort },
  ): Promise<Outcome> {
    const { request, buckets } = asked;
    const key = cacheKey(request, caller, prepared);
    const etag = key === undefined ? undefined : `"${key}"`;
    if (etag !== undefined && caller.known.includes(etag)) return { body: undefined, etag, cached: true, rollups: [] };
    const kept = key === undefined ? undefined : this.#cache.get(key);
    if (kept !== undefined) return { ...kept, etag, cached: true };
    const ran = await together(
      prepared.map((one) => this.#run(one, asked, abort.signal)),
      abort.abort,
    );
    const answer = shape(ran, request, buckets, formula);
    const rollups = ran.flatMap(({ plan }) => (plan.rollup === undefined ? [] : [plan.rollup]));
    const body = write(answer, caller.format, request, buckets);
    if (key === undefined || ran.some(({ plan }) => plan.volatile))
      return { body, etag: undefined, cached: false, rollups };
    if (answer.rows.length > maxKeptRows) return { body, etag, cached: false, rollups };
    const pieces = [...body];
    const size = pieces.reduce((sum, piece) => sum + piece.length, 1000);
    this.#cache.set(key, { body: pieces, rollups }, size);
    return { body: pieces, etag, cached: false, rollups };
  }

  /** Series of one table together, in the order in which the tables first appear. */
  async #works(request: SeriesRequest, organizationId: string): Promise<Work[]> {
    const works = new Map<string, { source: SourceRecord; table: string; series: Series[] }>();
    const found = new Map<string, SourceRecord>();
    for (const [index, item] of request.series.entries()) {
      let source = found.get(item.sourceId);
      if (source === undefined) {
        const row = await this.#deps.sources.find(organizationId, item.sourceId);
        if (row === undefined) throw new AppError("NOT_FOUND", `Source not found for series ${index}`);
        source = sourceRecord(row);
        found.set(item.sourceId, source);
      }
      const table = source.from.tableName;
      const key = `${source.id} ${table}`;
      const work = works.get(key) ?? { source, table, series: [] };
      work.series.push({ index, item });
      works.set(key, work);
    }
    return [...works.values()];
  }

  async #prepare(work: Work, signal: AbortSignal): Promise<Prepared> {
    const { source, table } = work;
    const { client, release } = await this.#deps.clientFor(source.serviceId, signal);
    try {
      const place = { serviceId: source.serviceId, database: source.from.databaseName, table };
      return { ...work, client, release, ...(await this.#tables.state(client, place, signal)) };
    } catch (error) {
      release();
      throw engineErrorUnlessAborted(error, signal);
    }
  }

  async #run(
    work: Prepared,
    { request, range, buckets }: Asked,
    signal: AbortSignal,
  ): Promise<PlanResult & { plan: QueryPlan }> {
    const { client, schema, source, series } = work;
    const plan = await planEvents({
      source,
      schema,
      series,
      range,
      buckets,
      typesOf: (expressions, params) => this.#tables.typesOf(client, schema, expressions, params, signal),
    });
    try {
      const text = await client.text(`${plan.sql}\nLIMIT ${maxRows + 1}\nFORMAT JSONCompact`, {
        params: plan.params.values(),
        settings: this.#settings(),
        signal,
      });
      const rows = plan.read(readRows(text));
      refuseTooMany(rows.length * (request.fill === "none" ? 1 : 0));
      return { series, rows, plan };
    } catch (error) {
      throw engineErrorUnlessAborted(error, signal, plan.fromCaller);
    }
  }

  #settings() {
    const { timeMs, memoryBytes, rowsToRead } = this.#deps.limits;
    return {
      readonly: 2,
      max_execution_time: timeMs / 1000,
      max_memory_usage: memoryBytes,
      max_rows_to_read: rowsToRead,
      max_result_rows: maxRows + 1,
      output_format_json_quote_64bit_integers: 1,
      output_format_json_quote_denormals: 0,
      date_time_output_format: "iso",
      wait_end_of_query: 1,
    };
  }
}

/** Waits for all; the first failure aborts the others and is thrown when they have ended. */
async function together<T>(promises: readonly Promise<T>[], abort: (reason?: unknown) => void): Promise<T[]> {
  let failed: { error: unknown } | undefined;
  for (const promise of promises) {
    promise.catch((error) => {
      failed ??= { error };
      abort(error);
    });
  }
  const settled = await Promise.allSettled(promises);
  if (failed !== undefined) throw failed.error;
  return settled.map((one) => (one as PromiseFulfilledResult<T>).value);
}

function outOfTime(): AppError {
  return new AppError("TIMEOUT", "the query took longer than allowed");
}

function engineErrorUnlessAborted(error: unknown, signal: AbortSignal, fromCaller = false): unknown {
  if (!signal.aborted) return engineError(error, fromCaller);
  return signal.reason instanceof AppError
    ? signal.reason
    : new AppError("SERVICE_UNAVAILABLE", "the caller went away");
}

function readRows(text: string): Cell[][] {
  try {
    return (JSON.parse(text) as { data: Cell[][] }).data;
  } catch (cause) {
    throw new AppError("QUERY_FAILED", "the engine broke off its answer", { cause });
  }
}

/** Everything an answer depends on besides the time at which it is asked for; undefined when that cannot be told. */
function cacheKey(request: SeriesRequest, caller: Caller, works: readonly Prepared[]): string | undefined {
  if (works.some(({ version }) => version === undefined)) return undefined;
  const sources = works.map(({ source, table, version }) => [source.id, source.updatedAt, table, version]).sort();
  const all = JSON.stringify([caller.organizationId, caller.format, request, sources]);
  return createHash("sha256").update(all).digest("base64url");
}

function shape(
  ran: readonly PlanResult[],
  request: SeriesRequest,
  buckets: Buckets,
  formula: Formula | undefined,
): Answer {
  let rows = mergePlans(ran, request.series);
  let columns = request.series.map((_, i) => `series_${i}`);
  const groups = request.series[0]?.groupBy.length ?? 0;
  if (formula !== undefined) rows = withFormula(rows, formula);
  if (request.seriesReturnType === "ratio") {
    const extra = formula === undefined ? [] : rows.map(({ values }) => values[2] as Cell);
    rows = ratioOf(rows).map((row, i) =>
      formula === undefined ? row : { ...row, values: [...row.values, extra[i] as Cell] },
    );
    columns = ["series_0"];
  }
  if (formula !== undefined) columns.push("formula");
  let truncated: boolean | undefined;
  if (request.limit !== undefined) ({ rows, truncated } = limitGroups(rows, request.limit));
  rows = fillGaps(rows, request.fill, buckets, { groups, values: columns.length });
  return { rows, columns, truncated };
}
