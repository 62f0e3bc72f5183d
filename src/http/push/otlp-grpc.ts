/**
 * OTLP over gRPC on a port of its own: the three unary calls `Export`, of which each is one message in five bytes of
 * frame. The key in the metadata `authorization` says which pipe gets the telemetry.
 */
import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { CertificateFiles } from "../../lib/certificate-files.ts";
import { AppError } from "../../lib/errors.ts";
import { listenOn } from "../../lib/listen.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Signal } from "../../sources/push/otlp/messages.ts";
import { followCertificate, tlsOptions } from "../server/tls.ts";
import { decompressed } from "./bodies.ts";
import { exportTelemetry, outcomeOf, type Refusal, statusBody, type TelemetryOptions } from "./telemetry.ts";

export type OtlpGrpcOptions = TelemetryOptions & {
  readonly tls: CertificateFiles | undefined;
  readonly logger: Logger;
};

const service = (signal: string, name: string) => `/opentelemetry.proto.collector.${signal}.v1.${name}/Export`;
const calls: Readonly<Record<string, Signal>> = {
  [service("trace", "TraceService")]: "traces",
  [service("metrics", "MetricsService")]: "metrics",
  [service("logs", "LogsService")]: "logs",
};
const frameBytes = 5;
const unimplemented = 12;
/** A call must be complete within this time; a connection without calls is closed after the other. */
const callMs = 60_000;
const idleMs = 600_000;
const closeMs = 2_000;

export class OtlpGrpcServer {
  readonly #options: OtlpGrpcOptions;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(options: OtlpGrpcOptions) {
    this.#options = options;
    const { tls } = options;
    const settings = { settings: { maxConcurrentStreams: 100 } };
    this.#server = tls === undefined ? createServer(settings) : createSecureServer({ ...settings, ...tlsOptions(tls) });
    if (tls !== undefined) followCertificate(this.#server, tls);
    this.#server.on("session", (session) => this.#follow(session));
    this.#server.on("stream", (stream, headers) => void this.#call(stream, headers));
  }

  async listen(host: string, port: number): Promise<void> {
    await listenOn(this.#server, { host, port }, (err) => this.#options.logger.error({ err }, "the OTLP port failed"));
  }

  /** Calls in progress are answered. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const session of this.#sessions) session.close();
    const late = setTimeout(() => {
      for (const session of this.#sessions) session.destroy();
    }, closeMs);
    await closed;
    clearTimeout(late);
  }

  #follow(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.on("error", () => {});
    session.on("close", () => this.#sessions.delete(session));
    session.setTimeout(idleMs, () => session.close());
  }

  async #call(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on("error", () => {});
    const late = setTimeout(() => stream.close(), callMs);
    stream.once("close", () => clearTimeout(late));
    const signal = calls[String(headers[":path"])];
    if (signal === undefined) {
      refuse(stream, { status: 404, code: unimplemented, message: `There is no ${headers[":path"]}.` });
      return;
    }
    const { logger } = this.#options;
    const outcome = await outcomeOf((retryIn) => this.#received(stream, signal, headers, retryIn), logger);
    if ("message" in outcome) answer(stream, outcome.message);
    else refuse(stream, outcome.refusal, outcome.retrySeconds);
  }

  async #received(
    stream: ServerHttp2Stream,
    signal: Signal,
    headers: IncomingHttpHeaders,
    retryIn: (seconds: number) => void,
  ): Promise<Buffer> {
    const { gate, held, mostBytes } = this.#options;
    const ip = stream.session?.socket.remoteAddress ?? "";
    const admitted = await gate.admit({ params: undefined, headers, ip }, retryIn);
    return await held.whole(stream, mostBytes + frameBytes, async (frame) => {
      const { isCompressed, content } = unframed(frame);
      const request = { signal, encoding: "protobuf", headers, connection: stream } as const;
      if (!isCompressed) return await exportTelemetry(this.#options, admitted, { ...request, content });
      const pieces = decompressed(each(content), String(headers["grpc-encoding"]));
      return await held.whole(pieces, mostBytes, (whole) =>
        exportTelemetry(this.#options, admitted, { ...request, content: whole }),
      );
    });
  }
}

async function* each(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

/** Throws BAD_REQUEST. */
function unframed(frame: Buffer): { readonly isCompressed: boolean; readonly content: Buffer } {
  const isComplete = frame.length >= frameBytes && frame.readUInt32BE(1) === frame.length - frameBytes;
  if (!isComplete) throw new AppError("BAD_REQUEST", "The call must have one message, and be complete.");
  return { isCompressed: frame[0] !== 0, content: frame.subarray(frameBytes) };
}

function answer(stream: ServerHttp2Stream, message: Buffer): void {
  if (stream.destroyed) return;
  stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  const head = Buffer.alloc(frameBytes);
  head.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([head, message]));
}

/** An answer of trailers alone. The rest of the call is not read. */
function refuse(stream: ServerHttp2Stream, refusal: Refusal, wait?: number): void {
  if (stream.destroyed) return;
  const { code, message } = refusal;
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc+proto",
      "grpc-status": String(code),
      "grpc-message": encodeURIComponent(message),
      "grpc-status-details-bin": statusBody(refusal, "protobuf", wait).toString("base64"),
    },
    { endStream: true },
  );
  stream.resume();
}
