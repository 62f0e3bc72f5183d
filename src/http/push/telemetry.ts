/** What OTLP over HTTP and over gRPC have in common: a request is checked, made durable, and answered. */
import type { EventEmitter } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { childOf } from "../../lib/abort.ts";
import { AppError, asAppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { yieldWhenLong } from "../../lib/yield.ts";
import { MessageWriter } from "../../sources/push/otlp/message-writer.ts";
import { type Signal, signals } from "../../sources/push/otlp/messages.ts";
import {
  type Encoding,
  isSmall,
  type ReadTelemetry,
  readTelemetry,
  type TelemetryReader,
  type TelemetryTask,
} from "../../sources/push/otlp/reader.ts";
import { acceptTelemetry } from "./accept.ts";
import type { Admitted, PushGate } from "./gate.ts";

export type TelemetryRequest = {
  readonly signal: Signal;
  readonly encoding: Encoding;
  readonly content: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** Closes when the sender leaves. */
  readonly connection: EventEmitter;
};

export type TelemetryOptions = {
  readonly gate: PushGate;
  readonly held: HeldBodies;
  readonly reader: TelemetryReader;
  /** A body may have as many after decompression. */
  readonly mostBytes: number;
  readonly signal: AbortSignal;
};

/** The answer of the specification; it is sent when the telemetry is durable. Throws as `acceptTelemetry`. */
export async function exportTelemetry(
  options: TelemetryOptions,
  admitted: Admitted,
  request: TelemetryRequest,
): Promise<Buffer> {
  const { signal, encoding, content, headers } = request;
  const { pipe, inbox, sender } = admitted;
  const { config } = pipe;
  const { format = "JSONEachRow" } = config;
  if (format !== "otlp") throw new AppError("BAD_REQUEST", `This pipe accepts ${format}, and no OpenTelemetry.`);
  const task = { signal, encoding, content, mostBytes: options.mostBytes };
  const read = isSmall(task) ? readTelemetry(task) : await readLarge(options, task, request.connection);
  const { records, body, digest, rejected, reason = "" } = read;
  const bytes = body.length;
  if (records > 0) {
    const { isRepeat } = await acceptTelemetry({ signal, body, digest, records, headers, config, inbox });
    if (!isRepeat) options.gate.spend(sender, records, bytes);
  }
  return answer(signal, encoding, rejected, reason);
}

/** Ends when the sender leaves, or the server stops. */
async function readLarge(
  { reader, signal }: TelemetryOptions,
  task: TelemetryTask,
  connection: EventEmitter,
): Promise<ReadTelemetry> {
  using waiting = childOf(signal);
  const left = () => waiting.abort(new AppError("BAD_REQUEST", "The sender left before its body was read."));
  connection.once("close", left);
  try {
    return await reader.read(task, waiting.signal);
  } finally {
    connection.off("close", left);
  }
}

function answer(signal: Signal, encoding: Encoding, rejected: number, reason: string): Buffer {
  const { rejected: member, records } = signals[signal];
  const sentence = `${rejected} ${records} were not kept; of the first, ${reason}.`;
  if (encoding === "json") {
    const partialSuccess = { [member]: String(rejected), errorMessage: sentence };
    return Buffer.from(JSON.stringify(rejected === 0 ? {} : { partialSuccess }));
  }
  const response = new MessageWriter();
  if (rejected > 0) {
    const partial = new MessageWriter();
    partial.varint(1, BigInt(rejected));
    partial.bytes(2, sentence);
    response.bytes(1, partial.content());
  }
  return response.content();
}

export type Refusal = {
  readonly status: number;
  /** The status code of gRPC. */
  readonly code: number;
  readonly message: string;
};

const unavailable = 14;
/** Codes of gRPC by the status of HTTP. */
const grpcCodes: Readonly<Record<number, number>> = { 400: 3, 401: 16, 403: 7, 404: 5, 413: 8, 415: 3, 422: 3 };

/** What senders repeat has a status that says so: full disks and unexpected errors as well as busy servers. */
function refusalOf(error: unknown): Refusal {
  const known = asAppError(error);
  const message = known?.message ?? "An unexpected error occurred.";
  const status = known?.status ?? 503;
  if (status === 429) return { status, code: unavailable, message };
  const code = grpcCodes[status];
  return code === undefined ? { status: 503, code: unavailable, message } : { status, code, message };
}

/** Senders that are not told another time come back after it. */
const retrySeconds = 5;

export type Outcome = { readonly message: Buffer } | { readonly refusal: Refusal; readonly retrySeconds?: number };

/** The answer that the work makes, or why there is none, and when to come back for senders that may. Never rejects. */
export async function outcomeOf(
  work: (retryIn: (seconds: number) => void) => Promise<Buffer>,
  logger: Pick<Logger, "warn">,
): Promise<Outcome> {
  let wait = retrySeconds;
  try {
    const message = await work((seconds) => {
      wait = seconds;
    });
    return { message };
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal.status === 503) logger.warn({ err: error }, "telemetry was not accepted");
    return refusal.status === 429 || refusal.status === 503 ? { refusal, retrySeconds: wait } : { refusal };
  }
}

/** A `google.rpc.Status`; with `retrySeconds` it says when to come back. */
export function statusBody({ code, message }: Refusal, encoding: Encoding, retrySeconds?: number): Buffer {
  if (encoding === "json") return Buffer.from(JSON.stringify({ code, message }));
  const status = new MessageWriter();
  status.varint(1, BigInt(code));
  status.bytes(2, message);
  if (retrySeconds !== undefined) {
    const [delay, info, detail] = [new MessageWriter(), new MessageWriter(), new MessageWriter()];
    delay.varint(1, BigInt(retrySeconds));
    info.bytes(1, delay.content());
    detail.bytes(1, "type.googleapis.com/google.rpc.RetryInfo");
    detail.bytes(2, info.content());
    status.bytes(3, detail.content());
  }
  return status.content();
}

/** Bodies that are in memory as a whole at one time. More are refused, and sent again. */
export class HeldBodies {
  readonly #most: number;
  #held = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The body in one piece, for the time of `use`. Throws PAYLOAD_TOO_LARGE and OVERLOADED. */
  async whole<T>(
    pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
    mostBytes: number,
    use: (body: Buffer) => Promise<T>,
  ): Promise<T> {
    const kept: Buffer[] = [];
    let size = 0;
    try {
      for await (const piece of pieces) {
        size += piece.length;
        this.#held += piece.length;
        kept.push(piece);
        if (size > mostBytes) {
          throw new AppError("PAYLOAD_TOO_LARGE", `The body has more than ${mostBytes} bytes after decompression.`);
        }
        if (this.#held > this.#most)
          throw new AppError("OVERLOADED", "The server holds too many bodies at this moment.");
      }
      const body = kept.length === 1 ? (kept[0] as Buffer) : await joined(kept, size);
      kept.length = 0;
      return await use(body);
    } finally {
      this.#held -= size;
    }
  }
}

/** Copying the largest body takes as long as all that may be done in one turn of the event loop. */
async function joined(pieces: readonly Buffer[], size: number): Promise<Buffer> {
  const body = Buffer.allocUnsafe(size);
  let at = 0;
  for (const piece of pieces) {
    await yieldWhenLong();
    at += piece.copy(body, at);
  }
  return body;
}
