/**
 * One answer of the ClickHouse HTTP interface. The first bytes are held back (`buffer_size`, 1 MiB) so that a query
 * that fails early gets its proper status, and a short one its final summary. After that bytes pass straight on. An
 * answer that fails later ends in an exception block and a broken connection: it can never look complete.
 */
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { pipeline, type Transform, type Writable } from "node:stream";
import type { ClickHouseException } from "../clickhouse/exception.ts";
import { BatchWriter } from "../lib/batch-writer.ts";
import { chooseEncoding, type Encoding } from "./content-encoding.ts";
import { contentTypeOf } from "./formats.ts";
import { BlockCompressor } from "./native-blocks.ts";

export type ReplyFacts = {
  readonly queryId: string;
  readonly displayName: string;
  readonly timezone: string;
  readonly version: string;
};

export type Summary = {
  readonly readRows: number;
  readonly readBytes: number;
  readonly writtenRows: number;
  readonly writtenBytes: number;
  readonly resultRows: number;
};

export const emptySummary: Summary = { readRows: 0, readBytes: 0, writtenRows: 0, writtenBytes: 0, resultRows: 0 };

export type ReplyOptions = {
  /** How many bytes are held back before the head is sent. */
  readonly holdBytes: number;
  /** The client's `Accept-Encoding`, or empty when compression was not asked for. */
  readonly acceptEncoding: string;
  /** Native block compression. */
  readonly compress: boolean;
};

export class Reply {
  readonly #response: ServerResponse;
  readonly #facts: ReplyFacts;
  readonly #startedAt = process.hrtime.bigint();
  /** Sixteen small letters, as clients expect them. */
  readonly #exceptionTag = Array.from(randomBytes(16), (byte) => String.fromCharCode(97 + (byte % 26))).join("");
  #held: Buffer[] = [];
  #heldBytes = 0;
  readonly #holdBytes: number;
  readonly #encoding: Encoding | undefined;
  readonly #compress: boolean;
  /** Where result bytes go once the head is sent: the response, or what compresses for it. */
  #sink: Writable;
  #last: Transform | undefined;
  /** The way to the response while nothing compresses. */
  readonly #plain: BatchWriter;
  #format: string | undefined;
  #early = emptySummary;

  constructor(response: ServerResponse, facts: ReplyFacts, options: ReplyOptions) {
    this.#response = response;
    this.#facts = facts;
    this.#holdBytes = options.holdBytes;
    this.#encoding = chooseEncoding(options.acceptEncoding);
    this.#compress = options.compress;
    this.#sink = response;
    this.#plain = new BatchWriter(response);
    // As bytes: a header that Node writes has no characters beyond them.
    response.setHeader("X-ClickHouse-Query-Id", Buffer.from(facts.queryId).toString("latin1"));
    response.setHeader("X-ClickHouse-Server-Display-Name", facts.displayName);
    response.setHeader("X-ClickHouse-Timezone", facts.timezone);
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  setFormat(format: string): void {
    this.#format = format;
  }

  /** The counters are known before the first byte is sent. */
  setSummary(summary: Summary): void {
    this.#early = summary;
  }

  /** Takes result bytes; false means: wait for `drained` before the next. */
  write(chunk: Buffer): boolean {
    if (this.#response.headersSent) return this.#send(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= this.#holdBytes) return true;
    this.#sendHead(this.#early);
    return this.#send(this.#takeHeld());
  }

  onDrain(listener: () => void): void {
    if (this.#sink === this.#response) this.#plain.onDrain(listener);
    else this.#sink.once("drain", listener);
  }

  #send(chunk: Buffer): boolean {
    return this.#sink === this.#response ? this.#plain.write(chunk) : this.#sink.write(chunk);
  }

  finish(summary: Summary): void {
    if (this.#response.headersSent) {
      this.#plain.flush();
      this.#sink.end();
      return;
    }
    const body = this.#takeHeld();
    const plain = this.#encoding === undefined && !this.#compress;
    if (plain) this.#response.setHeader("Content-Length", body.length);
    this.#sendHead(summary);
    this.#sink.end(body);
  }

  /** Ends the answer with an error, whatever was sent before. */
  fail(error: ClickHouseException): void {
    const text = error.format(this.#facts.version);
    if (!this.#response.headersSent) {
      this.#held = [];
      this.#response.statusCode = error.httpStatus;
      this.#response.setHeader("X-ClickHouse-Exception-Code", String(error.code));
      this.#response.setHeader("Content-Type", "text/plain; charset=UTF-8");
      this.#response.setHeader("Content-Length", Buffer.byteLength(text));
      this.#response.setHeader("X-ClickHouse-Summary", this.#summaryText(emptySummary));
      this.#response.end(text);
      return;
    }
    const tag = this.#exceptionTag;
    const size = Buffer.byteLength(text);
    const block = `\r\n__exception__\r\n${tag}\r\n${text}${size} ${tag}\r\n__exception__\r\n`;
    const breakOff = () => this.#response.write("", () => this.#response.socket?.destroySoon());
    if (this.#sink === this.#response) {
      this.#plain.flush();
      this.#response.write(block, breakOff);
      return;
    }
    // The compressors finish, so that the client can read the block, but the response does not.
    this.#last?.unpipe(this.#response);
    this.#sink.end(block);
    this.#last?.on("data", (chunk: Buffer) => this.#response.write(chunk));
    this.#last?.on("end", breakOff);
    this.#last?.resume();
  }

  /** Puts the compressors that were asked for in front of the response. */
  #openSink(): void {
    const stages: Transform[] = [];
    if (this.#compress) stages.push(new BlockCompressor());
    if (this.#encoding !== undefined) stages.push(this.#encoding.create());
    const [first, second] = stages;
    if (first === undefined) return;
    this.#sink = first;
    if (second !== undefined) pipeline(first, second, () => {});
    this.#last = second ?? first;
    this.#last.on("error", () => this.#response.destroy());
    this.#last.pipe(this.#response);
    this.#response.on("close", () => {
      for (const stage of stages) stage.destroy();
    });
  }

  #sendHead(summary: Summary): void {
    const response = this.#response;
    if (this.#format !== undefined) {
      response.setHeader("X-ClickHouse-Format", this.#format);
      response.setHeader("Content-Type", contentTypeOf(this.#format));
    } else response.setHeader("Content-Type", "text/plain; charset=UTF-8");
    if (this.#encoding !== undefined) response.setHeader("Content-Encoding", this.#encoding.name);
    response.setHeader("X-ClickHouse-Exception-Tag", this.#exceptionTag);
    response.setHeader("X-ClickHouse-Summary", this.#summaryText(summary));
    response.writeHead(200);
    this.#openSink();
  }

  #takeHeld(): Buffer {
    const held = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  #summaryText(summary: Summary): string {
    return JSON.stringify({
      read_rows: String(summary.readRows),
      read_bytes: String(summary.readBytes),
      written_rows: String(summary.writtenRows),
      written_bytes: String(summary.writtenBytes),
      total_rows_to_read: String(summary.readRows),
      result_rows: String(summary.resultRows),
      result_bytes: "0",
      elapsed_ns: String(process.hrtime.bigint() - this.#startedAt),
    });
  }
}
