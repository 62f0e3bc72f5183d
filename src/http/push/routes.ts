/** The addresses to which applications send rows: below the pipe, and a short one. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { pushAddress } from "../../api/sent-rows.ts";
import { childOf } from "../../lib/abort.ts";
import type { Inbox } from "../../sources/push/inbox/inbox.ts";
import { sendResult } from "../answer/answer.ts";
import { fixedHeaders } from "../answer/headers.ts";
import { refusedQuery } from "../request/validate.ts";
import { refuseOtherMethods } from "../server/server.ts";
import { accept } from "./accept.ts";
import { originHeaders } from "./admission.ts";
import { askedOf, type PushGate, retryAfter } from "./gate.ts";
import { receiveTelemetry } from "./otlp-http.ts";
import type { PushPipe, PushPipes } from "./pipes.ts";
import type { TelemetryOptions } from "./telemetry.ts";

/** A sender that waits for its rows to be visible is answered after this time in any case. */
const waitMs = 30_000;

export type PushOptions = TelemetryOptions & {
  readonly pipes: PushPipes;
  readonly tls: boolean;
};

export function addPush(server: FastifyInstance, options: PushOptions): void {
  const { gate } = options;
  for (const url of [
    `${pushAddress}:pipeId`,
    "/v1/organizations/:organizationId/services/:serviceId/pipes/:pipeId/events",
  ]) {
    addPost(server, url, (request, reply) => receive(options, gate, request, reply));
    const below = `${url}/v1/:signal`;
    addPost(server, below, (request, reply) => receiveTelemetry(options, request, reply));
    for (const one of [url, below]) {
      server.options(one, (request, reply) => preflight(options, request, reply));
      refuseOtherMethods(server, one, ["POST", "OPTIONS"]);
    }
  }
}

/** Bodies of every type reach `answer` unread: it answers before the router looks at them. */
function addPost(
  server: FastifyInstance,
  url: string,
  answer: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  server.post(url, { onRequest: async (request, reply) => void (await answer(request, reply)) }, async () => undefined);
}

async function receive(options: PushOptions, gate: PushGate, request: FastifyRequest, reply: FastifyReply) {
  const { pipe, inbox, sender, origin } = await gate.admit(askedOf(request), retryAfter(reply));
  const waits = isWaiting(request);
  const { config } = pipe;
  const { signature } = sender;
  const { mostBytes } = options;
  const fields = () => fieldsOf(pipe);
  const accepted = await accept({ request: request.raw, config, fields, inbox, signature, mostBytes });
  const { offset, rows, bytes, isRepeat } = accepted;
  if (!isRepeat) gate.spend(sender, rows, bytes);
  const isVisible = waits && (await isLoaded(options, inbox, offset + rows, request));
  const result = { offset, rows, ...(isRepeat ? { repeated: true } : {}) };
  sendResult(reply, isVisible ? 200 : 202, [...fixedHeaders(options.tls), ...origin], JSON.stringify(result));
}

/** A sender that asks for it in other words would believe that its rows are visible. */
function isWaiting({ query }: FastifyRequest): boolean {
  const { wait = "false" } = query as { wait?: unknown };
  if (wait !== "true" && wait !== "false") throw refusedQuery("wait", "must be true or false");
  return wait === "true";
}

/** What a row can name. */
function fieldsOf({ pipe: { fieldMappings, destination } }: PushPipe): string[] {
  const { columns = [] } = destination;
  return fieldMappings.length > 0 ? fieldMappings.map((one) => one.sourceField) : columns.map(({ name }) => name);
}

async function isLoaded(options: PushOptions, inbox: Inbox, end: number, { raw }: FastifyRequest): Promise<boolean> {
  using waiting = childOf(options.signal);
  const left = () => waiting.abort();
  raw.socket.once("close", left);
  try {
    return await inbox.isLoaded(end, waitMs, waiting.signal);
  } finally {
    raw.socket.off("close", left);
  }
}

/** What a browser asks before it sends the rows of a page. */
async function preflight({ pipes }: PushOptions, request: FastifyRequest, reply: FastifyReply) {
  const { params, headers } = askedOf(request);
  const pipe = await pipes.find(params.pipeId);
  const allowed = originHeaders(pipe?.config ?? {}, headers.origin);
  for (let at = 0; at < allowed.length; at += 2) reply.header(allowed[at] as string, allowed[at + 1]);
  reply.header("access-control-allow-methods", "POST").header("access-control-max-age", "600");
  reply.header(
    "access-control-allow-headers",
    "authorization, content-type, content-encoding, idempotency-key, x-api-key",
  );
  return reply.status(204).send();
}
