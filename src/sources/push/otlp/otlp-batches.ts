/**
 * Batches of OpenTelemetry: requests as they were accepted, decoded into one block for each table that has rows. A
 * batch ends with a request, so that the same offsets always make the same blocks.
 */
import { Readable } from "node:stream";
import { identifier, tableName } from "../../../clickhouse/sql.ts";
import type { Insert } from "../../contract/source.ts";
import type { BatchLimits } from "../../messages/limits.ts";
import { oneBlock } from "../../messages/plan.ts";
import type { RowRange } from "../declaration/durable.ts";
import type { Frame } from "../inbox/frames.ts";
import type { InboxReader } from "../reader.ts";
import type { BatchMaker, Made } from "../source.ts";
import type { Block } from "./columns.ts";
import { mostExpansion } from "./inspect.ts";
import { Logs } from "./logs.ts";
import type { Signal } from "./messages.ts";
import { Metrics } from "./metrics.ts";
import type { OtlpTable } from "./tables.ts";
import { Traces } from "./traces.ts";

export type OtlpBatchesParts = {
  readonly reader: Pick<InboxReader, "frames" | "piecesOf">;
  readonly database: string;
  readonly limits: Pick<BatchLimits, "maxRows" | "maxBytes">;
};

export class OtlpBatches implements BatchMaker {
  readonly #parts: OtlpBatchesParts;

  constructor(parts: OtlpBatchesParts) {
    this.#parts = parts;
  }

  async collect(first: number, end: number): Promise<Made> {
    const { maxRows, maxBytes } = this.#parts.limits;
    return await this.#made({ first, last: end - 1 }, (rows, bytes, decoder) => {
      return rows >= maxRows || bytes >= maxBytes || decoder.bytes >= mostExpansion * maxBytes;
    });
  }

  async rebuild(range: RowRange): Promise<Made> {
    return await this.#made(range, () => false);
  }

  /**
   * Every block fits the tables as the pipe creates them. What the engine refuses is a table, or a view on it, that was
   * changed: the pipe stops and says so, and the telemetry waits in the inbox.
   */
  async refused(): Promise<readonly RowRange[]> {
    return [];
  }

  release(): void {}

  async #made(
    { first, last }: RowRange,
    isFull: (rows: number, bytes: number, decoder: Decoder) => boolean,
  ): Promise<Made> {
    const decoder = new Decoder();
    let [rows, fetchedBytes, end] = [0, 0, last + 1];
    for await (const frame of this.#parts.reader.frames(first, last + 1)) {
      const { o, n, g } = frame.facts;
      const body = await this.#bodyOf(frame);
      decoder.add(g as Signal, body);
      rows += n;
      fetchedBytes += body.length;
      if (!isFull(rows, fetchedBytes, decoder)) continue;
      end = o + n;
      break;
    }
    // What cannot be read any more must not hold up what comes after it.
    const missing = end - first - rows;
    const inserts = decoder.inserts(this.#parts.database);
    return { range: { first, last: end - 1 }, missing, inserts, rejected: [], skippedRows: 0, fetchedBytes };
  }

  async #bodyOf(frame: Frame): Promise<Buffer> {
    if (frame.facts.x === undefined) return frame.body;
    const pieces: Buffer[] = [];
    for await (const piece of this.#parts.reader.piecesOf(frame)) pieces.push(piece);
    return Buffer.concat(pieces);
  }
}

/** Requests of all signals as blocks. */
export class Decoder {
  readonly #logs = new Logs();
  readonly #traces = new Traces();
  readonly #metrics = new Metrics();

  add(signal: Signal, body: Buffer): void {
    if (signal === "logs") this.#logs.add(body);
    else if (signal === "traces") this.#traces.add(body);
    else this.#metrics.add(body);
  }

  /** Bytes of all blocks: those of the requests, and what rows have in common for each of them. */
  get bytes(): number {
    return Object.values(this.#blocks()).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** In the order of the tables, without those that get no rows. */
  inserts(database: string): Insert[] {
    return Object.entries(this.#blocks()).flatMap(([table, block]) =>
      block.rows === 0 ? [] : [insertOf(database, table, block)],
    );
  }

  #blocks(): Record<OtlpTable, Block> {
    const { gauge, sum, histogram, exponential, summary } = this.#metrics;
    return {
      otel_logs: this.#logs.block,
      otel_traces: this.#traces.block,
      otel_metrics_gauge: gauge.block,
      otel_metrics_sum: sum.block,
      otel_metrics_histogram: histogram.block,
      otel_metrics_exponential_histogram: exponential.block,
      otel_metrics_summary: summary.block,
    };
  }
}

function insertOf(database: string, table: string, block: Block): Insert {
  const columns = block.names.map(identifier).join(", ");
  return {
    sql: `INSERT INTO ${tableName(database, table)} (${columns}) FORMAT Native`,
    body: () => Readable.from(block.pieces()),
    settings: oneBlock,
    key: table,
    table,
    rows: block.rows,
  };
}
