/** OTLP over HTTP, below the address of a pipe: answers and errors have the encoding of the request. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError, notFound } from "../../lib/errors.ts";
import { isSignal } from "../../sources/push/otlp/messages.ts";
import type { Encoding } from "../../sources/push/otlp/reader.ts";
import { setHeaders } from "../answer/headers.ts";
import { mediaTypeOf } from "./accept.ts";
import { requestBytes } from "./bodies.ts";
import { askedOf } from "./gate.ts";
import { exportTelemetry, outcomeOf, statusBody, type TelemetryOptions } from "./telemetry.ts";

const types: Readonly<Record<Encoding, string>> = { json: "application/json", protobuf: "application/x-protobuf" };

export async function receiveTelemetry(options: TelemetryOptions, request: FastifyRequest, reply: FastifyReply) {
  const mediaType = mediaTypeOf(request.headers);
  const encoding = mediaType === types.protobuf ? "protobuf" : "json";
  reply.header("content-type", types[encoding]);
  const outcome = await outcomeOf(async (retryIn) => {
    if (mediaType !== types[encoding]) throw wrongType();
    return await received(options, request, reply, encoding, retryIn);
  }, request.log);
  if ("message" in outcome) return await reply.status(200).send(outcome.message);
  const { refusal, retrySeconds } = outcome;
  if (retrySeconds !== undefined) reply.header("retry-after", String(retrySeconds));
  return await reply.status(refusal.status).send(statusBody(refusal, encoding));
}

async function received(
  options: TelemetryOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  encoding: Encoding,
  retryIn: (seconds: number) => void,
): Promise<Buffer> {
  const { gate, held, mostBytes } = options;
  const { headers } = request;
  const { signal } = request.params as { readonly signal: string };
  if (!isSignal(signal)) throw notFound("Signal", signal);
  const admitted = await gate.admit(askedOf(request), retryIn);
  const { origin, sender } = admitted;
  setHeaders(reply, origin);
  const pieces = await requestBytes(request.raw, (piece) => sender.signature?.add(piece));
  return await held.whole(pieces, mostBytes, async (content) => {
    sender.signature?.end();
    return await exportTelemetry(options, admitted, {
      signal,
      encoding,
      content,
      headers,
      connection: request.raw.socket,
    });
  });
}

function wrongType(): AppError {
  return new AppError("UNSUPPORTED_MEDIA_TYPE", `Send OTLP as ${types.protobuf} or ${types.json}.`);
}
