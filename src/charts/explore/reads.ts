/**
 * Reads of one source beside series: rows, fields, values. Each asks one service within the limits of charts, and its
 * last answer is kept for callers that must not wake the service.
 */

import { text } from "node:stream/consumers";
import type { SourceRecord } from "../../api/chart-sources.ts";
import type { WakeMode } from "../../api/charts.ts";
import type { ReadMeta } from "../../api/explore.ts";
import {
  type ClickHouseClient,
  ClickHouseError,
  parseSummary,
  type QueryOptions,
  type Summary,
} from "../../clickhouse/client.ts";
import { clickHouseCodes } from "../../clickhouse/error-codes.ts";
import { AppError } from "../../lib/errors.ts";
import type { ChartSourceStore } from "../../store/saved/chart-sources.ts";
import type { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import { engineError } from "../errors.ts";
import { type Dated, keyOfRequest, LastAnswers, orAsleep } from "../last-answers.ts";
import type { PlanInput } from "../plan/plan.ts";
import { chartSourceRecordOf, type SeriesTarget, sourceNotFound, targetOf } from "../sources.ts";
import type { Tables } from "../tables/table.ts";
import { type Reader, readOnlyMode, type Turns } from "../turns.ts";

export type ReadableSources = Pick<ChartSourceStore, "find" | "list">;

/** What one read may do with the engine. */
export type EngineRead = {
  readonly signal: AbortSignal;
  readonly client: ClickHouseClient;
  /** Runs a query and reads its whole answer. Throws AppError. */
  query(sql: string, options?: Pick<QueryOptions, "params" | "settings" | "tuning">): Promise<string>;
};

export type SourceRead = EngineRead &
  SeriesTarget & {
    readonly source: SourceRecord;
    readonly schema: TableSchema;
    readonly typesOf: PlanInput["typesOf"];
  };

type Read<T> = Dated<{ readonly result: T; readonly meta: ReadMeta }>;
type Asked = { readonly wake: WakeMode; readonly metricDataType?: string | undefined };

/** One answer has at most as many, as the engine holds it. */
const maxAnswerBytes = 8 * 2 ** 20;
const tooLarge = `the answer has more than ${maxAnswerBytes / 2 ** 20} MiB; ask for fewer rows or columns`;
const maxResultRows = 100_000;

export class SourceReads {
  readonly #deps: { readonly sources: ReadableSources; readonly turns: Turns; readonly tables: Tables };
  readonly #last = new LastAnswers<{ readonly result: unknown; readonly meta: ReadMeta }>();

  constructor(deps: { sources: ReadableSources; turns: Turns; tables: Tables }) {
    this.#deps = deps;
  }

  /** Reads the table of a source. `path` names its id, `request` is what decides the answer. Throws AppError. */
  async ofSource<T>(
    sourceId: string,
    path: "sourceId" | "id",
    { wake, metricDataType, ...request }: Asked & Readonly<Record<string, unknown>>,
    reader: Reader,
    work: (read: SourceRead) => Promise<T>,
  ): Promise<{ readonly result: T; readonly meta: ReadMeta }> {
    const row = await this.#deps.sources.find(reader.organizationId, sourceId);
    if (row === undefined) throw sourceNotFound("Source not found", path);
    const source = chartSourceRecordOf(row);
    const target = targetOf(source, metricDataType, "metricDataType");
    const { serviceId, from } = source;
    const place = { serviceId, database: from.databaseName, table: target.table };
    const key = [reader.organizationId, source.id, source.updatedAt, target.table, request];
    return await this.ofService(serviceId, { wake, key }, reader, async (read) => {
      const { schema } = await this.#deps.tables.state(read.client, place, read.signal).catch((error) => {
        throw engineError(error, false);
      });
      const typesOf = (expressions: readonly string[], params: Params) =>
        this.#deps.tables.typesOf(read.client, schema, { expressions, params }, read.signal);
      return await work({ ...read, ...target, source, schema, typesOf });
    });
  }

  /** Reads a service. `key` is what decides the answer, and who asks. Throws AppError. */
  async ofService<T>(
    serviceId: string,
    { wake, key }: { wake: WakeMode; key: readonly unknown[] },
    reader: Reader,
    work: (read: EngineRead) => Promise<T>,
  ): Promise<{ readonly result: T; readonly meta: ReadMeta }> {
    const last = keyOfRequest([serviceId, ...key]);
    const begin = performance.now();
    const turn = await this.#deps.turns.begin(reader);
    const elapsed = () => Math.round((performance.now() - begin) * 10) / 10;
    const look = () => turn.acquire(serviceId, wake);
    try {
      const asOfMs = Date.now();
      const { client } = await look();
      const counted = { readRows: 0, readBytes: 0 };
      const result = await work(this.#engineRead(client, turn.abort.signal, counted));
      const asOf = new Date(asOfMs).toISOString();
      const { readRows: rowsRead, readBytes: bytesRead } = counted;
      const answer = { result, meta: { rowsRead, bytesRead, elapsedMs: elapsed(), cache: "miss" as const, asOf } };
      this.#last.set(last, answer, asOfMs, sizeOf(result));
      return answer;
    } catch (error) {
      const { value } = this.#last.insteadOf(await orAsleep(turn.failure(error), wake, look), last) as Read<T>;
      const nothing = { rowsRead: 0, bytesRead: 0, elapsedMs: elapsed(), cache: "stale" as const };
      return { result: value.result, meta: { ...value.meta, ...nothing } };
    } finally {
      turn.end();
    }
  }

  #engineRead(client: ClickHouseClient, signal: AbortSignal, counted: Mutable<ReadCount>): EngineRead {
    const query: EngineRead["query"] = async (sql, { params, settings, tuning } = {}) => {
      const limits = { ...this.#deps.turns.settings(maxResultRows), max_result_bytes: maxAnswerBytes };
      const options = {
        ...(params && { params }),
        settings: { ...limits, ...settings },
        ...(tuning && { tuning }),
        headers: readOnlyMode,
        signal,
      };
      try {
        const response = await client.stream(sql, options);
        const { readRows, readBytes } = parseSummary(response.headers["x-clickhouse-summary"]);
        counted.readRows += readRows;
        counted.readBytes += readBytes;
        return await text(response);
      } catch (error) {
        if (error instanceof ClickHouseError && error.code === clickHouseCodes.TOO_MANY_ROWS_OR_BYTES) {
          throw new AppError("QUERY_FAILED", tooLarge, { cause: error });
        }
        throw engineError(error, true);
      }
    };
    return { client, signal, query };
  }
}

type ReadCount = Pick<Summary, "readRows" | "readBytes">;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** About the memory of an answer in bytes: its text, and as much again for what holds it. */
function sizeOf(result: unknown): number {
  return 1000 + 2 * JSON.stringify(result).length;
}
