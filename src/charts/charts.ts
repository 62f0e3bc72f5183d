/**
 * Answers chart requests: finds the sources, plans one query per source, runs them in parallel and shapes the answer.
 * Every query is read-only and bounded in time, memory and rows; it ends when the caller goes away.
 */
import { Readable } from "node:stream";
import type { SourceRecord } from "../api/chart-sources.ts";
import type { ChartRequest } from "../api/charts.ts";
import { type ClickHouseClient, parseSummary, type QueryOptions, type Summary } from "../clickhouse/client.ts";
import { allOrAbort, type ChildAbort } from "../lib/abort.ts";
import { AppError } from "../lib/errors.ts";
import { yieldWhenLong } from "../lib/yield.ts";
import type { ChartSourceStore } from "../store/saved/chart-sources.ts";
import { type Format, write } from "./answer/answer.ts";
import { AnswerThreads } from "./answer/answer-threads.ts";
import { answerOf, isSmall } from "./answer/answer-work.ts";
import { ChartAnswerCache } from "./answer/cache.ts";
import { maxRows } from "./answer/rows.ts";
import { type AnswerRequest, mostGroups, shape } from "./answer/shape.ts";
import { allOf, batchesOf, mayStream, type RemainingRows, streamed } from "./answer/streaming.ts";
import type { ClientLease } from "./clients.ts";
import { isTooLong, tooLong } from "./columns/budget.ts";
import { at, engineError } from "./errors.ts";
import { parseFormula } from "./formula.ts";
import { LastAnswers, orAsleep } from "./last-answers.ts";
import { locateError } from "./locate-error.ts";
import { planHistogram } from "./metrics/histogram.ts";
import { planGauge, planSum } from "./metrics/scalars.ts";
import { type Answered, type Caller, cacheKey, lastKeyOf, type Outcome, tagOf, warningsOf } from "./outcome.ts";
import { Buckets } from "./plan/buckets.ts";
import type { PlanRow } from "./plan/cells.ts";
import { planEvents } from "./plan/events.ts";
import type { PlanInput, QueryPlan, Series } from "./plan/plan.ts";
import { fitsExactly } from "./plan/quantile.ts";
import { planRollup, type RollupTable } from "./plan/rollup.ts";
import { chartSourceRecordOf, type SeriesTarget, seriesTargetOf, sourceNotFound } from "./sources.ts";
import { blockCache } from "./tables/block-cache.ts";
import type { ChartTable, Tables } from "./tables/table.ts";
import { requireTimeZone } from "./timezone.ts";
import { readOnlyMode, type Turns } from "./turns.ts";

export type ChartDeps = {
  readonly sources: Pick<ChartSourceStore, "find">;
  readonly turns: Turns;
  readonly tables: Tables;
};

const cacheBytes = 64 * 1024 * 1024;
const cacheTtlMs = 60_000;
const maxKeptRows = 50_000;

type Text = { readonly chunks: readonly (string | Buffer)[]; readonly rows: number };
type Kept = Pick<Outcome, "rollups" | "warnings"> & { readonly body: Text["chunks"] };
type TableRead = SeriesTarget & { readonly source: SourceRecord; readonly series: readonly Series[] };
type OpenRead = TableRead & ClientLease;
type Execution = AnswerRequest & { readonly streams: boolean };
/** What a query answered: as it is, or, when it may be of any length, its first rows and the rest that is to come. */
type Executed = {
  readonly series: readonly Series[];
  readonly plan: QueryPlan;
  readonly warnings: readonly string[];
} & (
  | { readonly bytes: readonly Uint8Array[]; readonly read: Summary }
  | { readonly rows: readonly PlanRow[]; readonly rest: RemainingRows | undefined }
);

const nothingRead = { read: { readRows: 0, readBytes: 0 } };

const planners = { events: planEvents, gauge: planGauge, sum: planSum, histogram: planHistogram };

export class Charts {
  readonly #deps: ChartDeps;
  readonly #tables: Tables;
  readonly #threads = new AnswerThreads();
  readonly #cache = new ChartAnswerCache<Kept>({ bytes: cacheBytes, ttlMs: cacheTtlMs });
  readonly #last = new LastAnswers<Kept & { readonly etag: string | undefined }>();

  constructor(deps: ChartDeps) {
    this.#deps = deps;
    this.#tables = deps.tables;
  }

  /** Answers one request. Throws AppError. */
  async query(request: ChartRequest, caller: Caller): Promise<Outcome> {
    requireTimeZone(request.timezone);
    const range = { startMs: request.startTime, endMs: request.endTime };
    const buckets = new Buckets({ ...range, granularity: request.granularity, zone: request.timezone });
    const formulaText = request.formula;
    const formula =
      formulaText === undefined ? undefined : at("formula", () => parseFormula(formulaText, request.series.length));
    const reads = await this.#reads(request, caller.organizationId);
    const { wake } = request;
    const last = lastKeyOf(request, caller, reads);
    const turn = await this.#deps.turns.begin(caller);
    const lease = async (read: TableRead): Promise<OpenRead> => {
      return { ...read, ...(await turn.acquire(read.source.serviceId, wake)) };
    };
    const leases = () => allOrAbort(reads.map(lease), turn.abort.abort);
    let outcome: Outcome | undefined;
    try {
      const asOfMs = Date.now();
      const answered = await this.#answer({ request, range, buckets, formula }, caller, await leases(), turn.abort);
      outcome = { ...answered, asOfMs, stale: false };
      this.#keepLast(last, outcome);
      return outcome;
    } catch (error) {
      return this.#lastOutcome(await orAsleep(turn.failure(error), wake, leases), last, caller);
    } finally {
      if (outcome?.body instanceof Readable) outcome.body.once("close", turn.end);
      else turn.end();
    }
  }

  #keepLast(key: string, { body, rollups, warnings, etag, asOfMs }: Outcome): void {
    const before = body === undefined ? this.#last.get(key) : undefined;
    if (before !== undefined && before.etag === etag) this.#last.set(key, before, asOfMs, sizeOf(before.body));
    if (body === undefined || body instanceof Readable) return;
    this.#last.set(key, { body, rollups, warnings, etag }, asOfMs, sizeOf(body));
  }

  /** What was answered when the service last ran; throws the error unless the service sleeps and something is kept. */
  #lastOutcome(error: unknown, key: string, { known }: Caller): Outcome {
    const { value, asOfMs, stale } = this.#last.insteadOf(error, key);
    const body = value.etag !== undefined && known.includes(value.etag) ? undefined : value.body;
    return { ...nothingRead, ...value, body, cached: true, asOfMs, stale };
  }

  /**
   * Answers from what is kept when the tables did not change since. Otherwise the rows are asked for by the columns as
   * remembered, while the engine is asked whether they still hold. A tag names the version that was there before the
   * rows were read, so what is kept under it is never older than it says.
   */
  async #answer(
    chart: AnswerRequest,
    caller: Caller,
    leased: readonly OpenRead[],
    abort: ChildAbort,
  ): Promise<Answered> {
    const { signal } = abort;
    const statesNow = () => leased.map((read) => this.#state(read, abort.signal));
    const states = () => allOrAbort(statesNow(), abort.abort);
    const keyFor = (tables: readonly ChartTable[]) => cacheKey(chart.request, caller, leased, tables);
    const streams = leased.length === 1 && leased[0]?.metric === undefined && mayStream(chart, caller.format);
    const run = (tables: readonly ChartTable[]) => this.#runAll({ ...chart, streams }, leased, tables, abort);
    const remembered = leased.map((read) => this.#tables.remembered(placeOf(read))).filter((one) => one !== undefined);
    const known = remembered.length === leased.length ? remembered : undefined;
    const expected = known && keyFor(known);
    const mayBeKept = expected !== undefined && (caller.known.includes(tagOf(expected)) || this.#cache.has(expected));
    if (known === undefined || mayBeKept) {
      const now = await states();
      const key = keyFor(now);
      if (key !== undefined && caller.known.includes(tagOf(key))) {
        return { ...nothingRead, body: undefined, etag: tagOf(key), cached: true, rollups: [], warnings: [] };
      }
      const kept = key === undefined ? undefined : this.#cache.get(key);
      if (kept !== undefined) return { ...nothingRead, ...kept, etag: tagOf(key as string), cached: true };
      return await this.#finish(await run(now), chart, caller, { key, signal });
    }
    const [tried, checked] = await Promise.all([settle(run(known)), settle(allOrAbort(statesNow()))]);
    // What fails may fail because the columns are others now.
    const now = checked.failed || tried.failed ? await states() : checked.value();
    if (now.some((state, i) => state.schema !== known[i]?.schema)) {
      if (!tried.failed) for (const one of tried.value()) if ("rest" in one) one.rest?.stop();
      return await this.#finish(await run(now), chart, caller, { key: keyFor(now), signal });
    }
    // Rows that changed meanwhile may be those of before the change, so no version vouches for them.
    const key = keyFor(now) === expected ? expected : undefined;
    return await this.#finish(tried.value(), chart, caller, { key, signal });
  }

  async #finish(
    done: readonly Executed[],
    chart: AnswerRequest,
    caller: Caller,
    { key, signal }: { key: string | undefined; signal: AbortSignal },
  ): Promise<Answered> {
    const [first] = done;
    const rollups = done.flatMap(({ plan }) => (plan.rollup === undefined ? [] : [plan.rollup]));
    const warnings = [...new Set([...warningsOf(chart.request), ...done.flatMap((one) => one.warnings)])];
    const about = { cached: false, rollups, warnings };
    const tagged = key === undefined || done.some(({ plan }) => plan.volatile) ? undefined : key;
    const etag = tagged === undefined ? undefined : tagOf(tagged);
    if (first !== undefined && "rest" in first && first.rest !== undefined) {
      const text = streamed({ ...first, rest: first.rest }, chart, caller.format);
      return { ...about, body: text, etag, read: undefined };
    }
    const { chunks: body, rows } = await this.#textOf(done, chart, caller.format, signal);
    if (tagged !== undefined && rows <= maxKeptRows) {
      this.#cache.set(tagged, { body, rollups, warnings }, sizeOf(body));
    }
    return { ...about, body, etag, read: readBy(done) };
  }

  /** The text of the answer. What takes long is done by another thread, or with turns for others. */
  async #textOf(done: readonly Executed[], chart: AnswerRequest, format: Format, signal: AbortSignal): Promise<Text> {
    const bytesOf = (one: Executed) => ("bytes" in one ? one.bytes : []);
    const plans = done.map((one) => ({ series: one.series, decoding: one.plan.decoding, bytes: bytesOf(one) }));
    const task = { request: chart.request, format, plans };
    const [first] = done;
    if (first === undefined || "bytes" in first) {
      if (!isSmall(task)) return await this.#threads.run(task, signal);
      const { chunks, rows } = answerOf(task);
      return { chunks: [...chunks], rows };
    }
    const answer = shape([first], chart);
    const chunks: string[] = [];
    for (const chunk of write(answer, format, chart.request, chart.buckets)) {
      chunks.push(chunk);
      await yieldWhenLong();
    }
    return { chunks, rows: answer.rows.length };
  }

  /** Series of one table together, in the order in which the tables first appear. */
  async #reads(request: ChartRequest, organizationId: string): Promise<TableRead[]> {
    const reads = new Map<string, TableRead & { series: Series[] }>();
    const found = new Map<string, SourceRecord>();
    for (const [index, item] of request.series.entries()) {
      let source = found.get(item.sourceId);
      if (source === undefined) {
        const row = await this.#deps.sources.find(organizationId, item.sourceId);
        if (row === undefined) throw sourceNotFound(`Source not found for series ${index}`, `series.${index}.sourceId`);
        source = chartSourceRecordOf(row);
        found.set(item.sourceId, source);
      }
      const target = seriesTargetOf(source, item, index);
      const key = `${source.id} ${target.metric} ${target.table}`;
      const read = reads.get(key) ?? { source, ...target, series: [] };
      read.series.push({ index, item });
      reads.set(key, read);
    }
    return [...reads.values()];
  }

  async #state(read: OpenRead, signal: AbortSignal): Promise<ChartTable> {
    try {
      return await this.#tables.state(read.client, placeOf(read), signal);
    } catch (error) {
      throw engineError(error, false);
    }
  }

  #runAll(
    chart: Execution,
    leased: readonly OpenRead[],
    states: readonly ChartTable[],
    abort: ChildAbort,
  ): Promise<Executed[]> {
    const run = (read: OpenRead, i: number) => this.#run(chart, read, states[i] as ChartTable, abort.signal);
    return allOrAbort(leased.map(run));
  }

  async #run(chart: Execution, read: OpenRead, state: ChartTable, signal: AbortSignal): Promise<Executed> {
    const { schema, blockCacheBytes } = state;
    const { client, source, series } = read;
    const warnings: string[] = [];
    const input: PlanInput = {
      warn: (path, message) => void warnings.push(`${path}: ${message}`),
      source,
      schema,
      series,
      range: chart.range,
      buckets: chart.buckets,
      mostGroups: mostGroups(chart.request, series),
      exactQuantiles: fitsExactly(
        state.rows,
        series.filter(({ item }) => item.aggFn === "quantile").length,
        this.#deps.turns.limits.memoryBytes,
      ),
      typesOf: (expressions, params) => this.#tables.typesOf(client, schema, { expressions, params }, signal),
    };
    try {
      const done = await this.#planAndRun(input, read, { streams: chart.streams, blockCacheBytes }, signal);
      return { ...done, warnings };
    } catch (error) {
      throw await locateError(error, input);
    }
  }

  async #planAndRun(
    input: PlanInput,
    read: OpenRead,
    { streams, blockCacheBytes }: { streams: boolean; blockCacheBytes: number },
    signal: AbortSignal,
  ): Promise<Executed> {
    const { client, series } = read;
    const warnings: readonly string[] = [];
    const rolledUp = read.metric === undefined ? await planRollup(input, await this.#rollups(read, signal)) : undefined;
    const planned = rolledUp ?? (await planners[read.metric ?? "events"](input));
    const volatile = planned.volatile || input.schema.volatile.some((name) => planned.params.columns.has(name));
    const plan = { ...planned, volatile };
    if (isTooLong(plan)) throw new AppError("BAD_REQUEST", tooLong);
    // The columns of a rollup are others.
    const cache = plan.rollup === undefined ? blockCache(plan.params.columns, input.schema, blockCacheBytes) : {};
    const settings = { ...this.#deps.turns.settings(maxRows + 1), ...cache };
    const options = { params: plan.params.values(), settings, headers: readOnlyMode, signal };
    try {
      if (streams) return await this.#begin(client, plan, options);
      const response = await client.stream(`${plan.sql}\nLIMIT ${maxRows + 1}\nFORMAT JSONCompact`, options);
      const read = parseSummary(response.headers["x-clickhouse-summary"]);
      return { series, plan, warnings, read, bytes: await allOf(response) };
    } catch (error) {
      throw engineError(error, plan.fromCaller);
    }
  }

  /** Reads the rows that may be kept; those beyond are left to come, however many they are. */
  async #begin(client: ClickHouseClient, plan: QueryPlan, options: QueryOptions): Promise<Executed> {
    const settings = { ...options.settings, wait_end_of_query: 0, max_result_rows: 0 };
    const response = await client.stream(`${plan.sql}\nFORMAT JSONCompactEachRow`, { ...options, settings });
    const batches = batchesOf(response, plan);
    const rows: PlanRow[] = [];
    while (rows.length <= maxKeptRows) {
      const next = await batches.next();
      if (next.done === true) return { series: plan.series, warnings: [], rows, plan, rest: undefined };
      rows.push(...next.value);
    }
    return { series: plan.series, warnings: [], rows, plan, rest: { batches, stop: () => response.destroy() } };
  }

  /** The source's rollups that exist. */
  async #rollups({ source, client }: OpenRead, signal: AbortSignal): Promise<RollupTable[]> {
    const tables = (source.materializedViews ?? []).map(async (rollup): Promise<RollupTable | undefined> => {
      const place = { serviceId: source.serviceId, database: rollup.databaseName, table: rollup.tableName };
      const state = await this.#tables.state(client, place, signal).catch(() => undefined);
      return state && { rollup, schema: state.schema };
    });
    return (await Promise.all(tables)).filter((table) => table !== undefined);
  }
}

/** What all queries read together; undefined when it is unknown for one of them. */
function readBy(done: readonly Executed[]): Outcome["read"] {
  const parts = done.map((one) => ("read" in one ? one.read : undefined));
  if (parts.includes(undefined)) return undefined;
  const sum = (name: "readRows" | "readBytes") => parts.reduce((all, part) => all + (part?.[name] ?? 0), 0);
  return { readRows: sum("readRows"), readBytes: sum("readBytes") };
}

/** The memory that a kept answer takes, in bytes. */
function sizeOf(body: Kept["body"]): number {
  return body.reduce((sum, chunk) => sum + chunk.length, 1000);
}

function placeOf({ source, table }: TableRead) {
  return { serviceId: source.serviceId, database: source.from.databaseName, table };
}

/** Waits for the end without throwing; `value` gives the value or throws the error. */
async function settle<T>(promise: Promise<T>): Promise<{ readonly failed: boolean; readonly value: () => T }> {
  try {
    const value = await promise;
    return { failed: false, value: () => value };
  } catch (error) {
    const fail = () => {
      throw error;
    };
    return { failed: true, value: fail };
  }
}
