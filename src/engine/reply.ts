/**
 * One answer of the ClickHouse HTTP interface. The first bytes are held back (`buffer_size`, 1 MiB) so that a query
 * that fails early gets its proper status, and a short one its final summary. After that bytes pass straight on. An
 * answer that fails later ends in an exception block and a broken connection: it can never look complete.
 */
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { ClickHouseException } from "../clickhouse/exception.ts";
import { contentTypeOf } from "./formats.ts";

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

export class Reply {
  readonly #response: ServerResponse;
  readonly #facts: ReplyFacts;
  readonly #startedAt = process.hrtime.bigint();
  readonly #exceptionTag = randomBytes(12).toString("base64url").slice(0, 16);
  #held: Buffer[] = [];
  #heldBytes = 0;
  #holdBytes: number;
  #format: string | undefined;

  constructor(response: ServerResponse, facts: ReplyFacts, holdBytes: number) {
    this.#response = response;
    this.#facts = facts;
    this.#holdBytes = holdBytes;
    response.setHeader("X-ClickHouse-Query-Id", facts.queryId);
    response.setHeader("X-ClickHouse-Server-Display-Name", facts.displayName);
    response.setHeader("X-ClickHouse-Timezone", facts.timezone);
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  setFormat(format: string): void {
    this.#format = format;
  }

  /** Takes result bytes; false means: wait for `drained` before the next. */
  write(chunk: Buffer): boolean {
    if (this.#response.headersSent) return this.#response.write(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= this.#holdBytes) return true;
    this.#sendHead(emptySummary);
    const held = this.#takeHeld();
    return this.#response.write(held);
  }

  onDrain(listener: () => void): void {
    this.#response.once("drain", listener);
  }

  finish(summary: Summary): void {
    if (this.#response.headersSent) {
      this.#response.end();
      return;
    }
    const body = this.#takeHeld();
    this.#response.setHeader("Content-Length", body.length);
    this.#sendHead(summary);
    this.#response.end(body);
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
    this.#response.write(block, () => this.#response.socket?.destroySoon());
  }

  #sendHead(summary: Summary): void {
    const response = this.#response;
    if (this.#format !== undefined) {
      response.setHeader("X-ClickHouse-Format", this.#format);
      response.setHeader("Content-Type", contentTypeOf(this.#format));
    } else response.setHeader("Content-Type", "text/plain; charset=UTF-8");
    response.setHeader("X-ClickHouse-Exception-Tag", this.#exceptionTag);
    response.setHeader("X-ClickHouse-Summary", this.#summaryText(summary));
    response.writeHead(200);
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
