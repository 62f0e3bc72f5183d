/** The addresses to which applications send rows: below the pipe, and a short one. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { traitsOf } from "../../api/runtimes.ts";
import { childOf } from "../../lib/abort.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import type { Inbox } from "../../sources/push/inbox/inbox.ts";
import type { Inboxes } from "../../sources/push/inbox/inboxes.ts";
import type { Leases } from "../../store/leases.ts";
import { sendResult } from "../answer.ts";
import type { Authenticator } from "../auth.ts";
import { fixedHeaders } from "../headers.ts";
import { refuseOtherMethods } from "../server.ts";
import { accept } from "./accept.ts";
import { originHeaders, type Sender, senderOf } from "./admission.ts";
import type { PushPipe, PushPipes } from "./pipes.ts";
import { PushRates } from "./rates.ts";
import type { Space } from "./space.ts";

/** A sender that waits for its rows to be visible is answered after this time in any case. */
const waitMs = 30_000;
const retryAfterSeconds = { inbox: 10, disk: 30 };

export type PushOptions = {
  readonly authenticator: Authenticator;
  readonly pipes: PushPipes;
  readonly inboxes: Inboxes;
  readonly space: Space;
  readonly leases: Pick<Leases, "holds" | "addressOf">;
  /** Several servers may share the metadata. */
  readonly isShared: boolean;
  readonly mostBytes: number;
  readonly tls: boolean;
  readonly signal: AbortSignal;
};

type Params = { readonly pipeId: string; readonly organizationId?: string; readonly serviceId?: string };

export function addPush(server: FastifyInstance, options: PushOptions): void {
  const rates = new PushRates();
  // Of its own, so that bodies of every type reach the handler unread.
  server.register(async (own) => {
    own.removeAllContentTypeParsers();
    own.addContentTypeParser("*", (_request, _body, done) => done(null));
    for (const url of [
      "/v1/push/:pipeId",
      "/v1/organizations/:organizationId/services/:serviceId/pipes/:pipeId/events",
    ]) {
      own.post(url, (request, reply) => receive(options, rates, request, reply));
      own.options(url, (request, reply) => preflight(options, request, reply));
      refuseOtherMethods(own, url, ["POST", "OPTIONS"]);
    }
  });
}

async function receive(options: PushOptions, rates: PushRates, request: FastifyRequest, reply: FastifyReply) {
  const params = request.params as Params;
  const pipe = await options.pipes.find(params.pipeId);
  const sender = await senderOf(options.authenticator, request, pipe);
  requireSame(params, pipe, sender);
  const { config, service } = pipe;
  const origin = originHeaders(config, request.headers.origin);
  requireHome(options, pipe);
  requireRate(rates, sender, reply);
  const inbox = await options.inboxes.of({ organizationId: service.organizationId, pipeId: params.pipeId });
  await requireSpace(options.space, pipe, inbox, reply);
  const { signature, principal } = sender;
  const { mostBytes } = options;
  const accepted = await accept({ request: request.raw, config, inbox, signature, mostBytes });
  const { offset, rows, bytes, isRepeat } = accepted;
  if (principal?.pushLimits !== undefined && !isRepeat) {
    rates.spend(principal.credentialId, principal.pushLimits, rows, bytes);
  }
  const waits = (request.query as { wait?: string }).wait === "true";
  const isVisible = waits && (await isLoaded(options, inbox, offset + rows, request));
  const result = { offset, rows, ...(isRepeat ? { repeated: true } : {}) };
  sendResult(reply, isVisible ? 200 : 202, [...fixedHeaders(options.tls), ...origin], JSON.stringify(result));
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

/** Throws NOT_FOUND for a pipe that does not exist, is of another kind, or belongs to somebody else. */
function requireSame(
  { pipeId, organizationId, serviceId }: Params,
  pipe: PushPipe | undefined,
  { principal }: Sender,
): asserts pipe is PushPipe {
  const owner = pipe?.service.organizationId;
  const isOwn = principal === undefined || principal.organizationId === owner;
  const isNamed = (organizationId ?? owner) === owner && (serviceId ?? pipe?.service.id) === pipe?.service.id;
  if (pipe === undefined || !isOwn || !isNamed) throw notFound("Push pipe", pipeId);
}

/**
 * An inbox is on the disk of one server: the one that runs the pipe, as long as no other one can take the pipe over.
 * Throws SERVICE_UNAVAILABLE and BAD_REQUEST.
 */
function requireHome({ leases, isShared }: PushOptions, { pipe, service }: PushPipe): void {
  if (isShared && !traitsOf(service).isOwnProcess) {
    const message = "Rows can be sent to pipes of embedded services only where servers share a metadata database.";
    throw new AppError("BAD_REQUEST", message);
  }
  if (leases.holds("pipe", pipe.id)) return;
  const address = leases.addressOf(service.nodeId);
  const where = address === undefined ? "another server, which does not answer" : `the server at ${address}`;
  throw new AppError("SERVICE_UNAVAILABLE", `The rows of this pipe are accepted by ${where}. Send them there.`);
}

function requireRate(rates: PushRates, { principal }: Sender, reply: FastifyReply): void {
  if (principal?.pushLimits === undefined) return;
  const seconds = rates.waitSeconds(principal.credentialId, principal.pushLimits);
  if (seconds === 0) return;
  reply.header("Retry-After", String(Math.ceil(seconds)));
  throw new AppError("TOO_MANY_REQUESTS", "The key has sent more rows or bytes per second than its pushLimits allow.");
}

async function requireSpace(space: Space, pipe: PushPipe, inbox: Inbox, reply: FastifyReply): Promise<void> {
  try {
    await space.require(pipe, inbox);
  } catch (error) {
    const isInbox = error instanceof AppError && error.code === "INBOX_FULL";
    reply.header("Retry-After", String(isInbox ? retryAfterSeconds.inbox : retryAfterSeconds.disk));
    throw error;
  }
}

/** What a browser asks before it sends the rows of a page. */
async function preflight({ pipes }: PushOptions, { params, headers }: FastifyRequest, reply: FastifyReply) {
  const pipe = await pipes.find((params as Params).pipeId);
  const allowed = originHeaders(pipe?.config ?? {}, headers.origin);
  for (let at = 0; at < allowed.length; at += 2) reply.header(allowed[at] as string, allowed[at + 1]);
  reply.header("access-control-allow-methods", "POST").header("access-control-max-age", "600");
  reply.header(
    "access-control-allow-headers",
    "authorization, content-type, content-encoding, idempotency-key, x-api-key",
  );
  return reply.status(204).send();
}
