/**
 * Data of INSERT ... VALUES that is longer than what is read before a statement is judged: it is judged as it arrives,
 * and the engine gets only what it may parse with expressions. So a value means the same in long data as in short data.
 */
import type { IncomingMessage } from "node:http";
import { Transform, type TransformCallback } from "node:stream";
import { type ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { ValuesScan } from "../sql/text/values-data.ts";
import type { IncomingQuery } from "./incoming-query.ts";

/** Passes on what may be parsed with expressions, and breaks off before anything else. */
class ArrivingValues extends Transform {
  readonly #scan = new ValuesScan();
  #held = "";
  #passed = 0;

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    done(this.#pass(chunk.toString("latin1"), false));
  }

  override _flush(done: TransformCallback): void {
    done(this.#pass("", true));
  }

  #pass(arrived: string, isEnd: boolean): ClickHouseException | null {
    const text = this.#held + arrived;
    const length = this.#scan.judge(text, isEnd);
    if (length === undefined) return unreadable(this.#passed);
    if (length > 0) this.push(Buffer.from(text.slice(0, length), "latin1"));
    this.#passed += length;
    this.#held = text.slice(length);
    return null;
  }
}

/**
 * How the body is forwarded when data of VALUES begins at `from` of the text and the rest of it is in `message`. The
 * body must not be compressed. `rest` is destroyed with the exception for the client.
 */
export function arrivingValues(
  message: IncomingMessage,
  { bodyAt, forwarded }: IncomingQuery,
  from: number,
): IncomingQuery["forwarded"] {
  const body = Buffer.concat(forwarded.first);
  const dataStart = Math.max(0, from - bodyAt);
  const rest = new ArrivingValues();
  // What the client still sends after a failure is read and dropped.
  rest.on("error", () => message.resume());
  message.once("close", () => {
    if (!message.readableEnded) rest.destroy();
  });
  rest.write(body.subarray(dataStart));
  message.pipe(rest);
  return { ...forwarded, first: [body.subarray(0, dataStart)], rest };
}

function unreadable(at: number): ClickHouseException {
  const text = `The data of VALUES has, about ${at} bytes from its beginning, something that can only be judged in data of at most 1 MiB: literals, and calls of the engine's functions, may be longer.`;
  return clickHouseException("SUPPORT_IS_DISABLED", text);
}
