/**
 * Reads bodies of OpenTelemetry: small ones where they arrive, and others, whose reading takes up to seconds, in a
 * thread.
 */
import { createHash } from "node:crypto";
import { AppError } from "../../../lib/errors.ts";
import { ownMemory, received, Threads } from "../../../lib/threads.ts";
import { type Inspected, inspect, mostExpansion } from "./inspect.ts";
import { fromJson } from "./json.ts";
import type { Signal } from "./messages.ts";

export type Encoding = "json" | "protobuf";

export type TelemetryTask = {
  readonly signal: Signal;
  readonly encoding: Encoding;
  readonly content: Uint8Array;
  /** What a body may have in either encoding. */
  readonly mostBytes: number;
};

export type ReadTelemetry = Inspected & {
  /** SHA-256 of `body`. */
  readonly digest: string;
};

/** Bodies up to these lengths are read within 50 milliseconds, whatever they contain. */
const smallBytes = { json: 262_144, protobuf: 1_048_576 };

export class TelemetryReader {
  readonly #threads: Threads<TelemetryTask, ReadTelemetry>;

  constructor(mostBytes: number) {
    // No body needs as much: one string of it is in the heap at a time, twice, with two bytes for each character.
    const heapMb = 256 + Math.ceil(mostBytes / 2 ** 16);
    this.#threads = new Threads({ root: "telemetry-thread", most: 1, heapMb, lost });
  }

  /** Takes over the memory of a large body. Throws as `readTelemetry`, OVERLOADED, and the signal's reason. */
  async read(task: TelemetryTask, signal: AbortSignal): Promise<ReadTelemetry> {
    const read = await this.#threads.run(task, ownMemory(task.content), signal);
    return { ...read, body: received(read.body) };
  }
}

export function isSmall({ encoding, content }: TelemetryTask): boolean {
  return content.length <= smallBytes[encoding];
}

/** Throws INVALID_JSON, BAD_REQUEST and PAYLOAD_TOO_LARGE. */
export function readTelemetry({ signal, encoding, content, mostBytes }: TelemetryTask): ReadTelemetry {
  const bytes = received(content);
  const sent = encoding === "json" ? fromJson(signal, bytes, mostBytes) : bytes;
  const inspected = inspect(signal, sent, mostExpansion * mostBytes);
  return { ...inspected, digest: createHash("sha256").update(inspected.body).digest("base64url") };
}

function lost(error?: NodeJS.ErrnoException): AppError {
  if (error?.code !== "ERR_WORKER_OUT_OF_MEMORY") {
    return new AppError("OVERLOADED", "The body was not read to its end.", { cause: error });
  }
  const message = "Reading the body needs more memory than allowed: send less in one request.";
  return new AppError("PAYLOAD_TOO_LARGE", message, { cause: error });
}
