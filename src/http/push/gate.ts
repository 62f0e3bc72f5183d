/** Lets requests that send rows in: who sends, where the rows are accepted, and whether there is room for them. */
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { traitsOf } from "../../api/runtimes.ts";
import { clientAddressOf } from "../../endpoint/connections/client-address.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import type { Inbox } from "../../sources/push/inbox/inbox.ts";
import type { Inboxes } from "../../sources/push/inbox/inboxes.ts";
import type { Leases } from "../../store/nodes/leases.ts";
import type { Authenticator } from "../caller/auth.ts";
import { originHeaders, pipeOfKey, type Sender, senderOf } from "./admission.ts";
import type { PushPipe, PushPipes } from "./pipes.ts";
import { PushRates } from "./rates.ts";
import type { Space } from "./space.ts";

const retryAfterSeconds = { inbox: 10, disk: 30 };

export type GateOptions = {
  readonly authenticator: Authenticator;
  readonly pipes: PushPipes;
  readonly inboxes: Inboxes;
  readonly space: Space;
  readonly leases: Pick<Leases, "holds" | "addressOf">;
  /** Several servers may share the metadata. */
  readonly isShared: boolean;
};

/** Where the rows go. Undefined: to the pipe of the key. */
export type Params = {
  readonly pipeId: string;
  readonly organizationId?: string | undefined;
  readonly serviceId?: string | undefined;
};

type Asked = { readonly params: Params | undefined; readonly headers: IncomingHttpHeaders; readonly ip: string };

/** Reads a request at the API or at the gateway, whose clients may come from proxies. Ids may be in upper case. */
export function askedOf({ params, headers, raw }: FastifyRequest): Asked & { readonly params: Params } {
  const { pipeId, organizationId, serviceId } = params as Params;
  const ids = { organizationId: organizationId?.toLowerCase(), serviceId: serviceId?.toLowerCase() };
  return { params: { pipeId: pipeId.toLowerCase(), ...ids }, headers, ip: clientAddressOf(raw.socket) };
}

export type Admitted = {
  readonly pipe: PushPipe;
  readonly sender: Sender;
  readonly inbox: Inbox;
  /** Headers of the answer. */
  readonly origin: readonly string[];
};

/** Called before an error is thrown after which the sender may come back, with seconds. */
type RetryIn = (seconds: number) => void;

export class PushGate {
  readonly #options: GateOptions;
  readonly #rates = new PushRates();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Throws the errors of keys and pipes, TOO_MANY_REQUESTS, INBOX_FULL, DISK_FULL and SERVICE_UNAVAILABLE. */
  async admit(asked: Asked, retryIn: RetryIn): Promise<Admitted> {
    const options = this.#options;
    const { headers } = asked;
    const params = asked.params ?? { pipeId: await pipeOfKey(options.authenticator, asked) };
    // Waiting for what is there already takes as long as finding it.
    const found = options.pipes.find(params.pipeId);
    const pipe = found instanceof Promise ? await found : found;
    const judged = senderOf(options.authenticator, asked, params.pipeId, pipe);
    const sender = judged instanceof Promise ? await judged : judged;
    requireSame(params, pipe, sender);
    const { config, service } = pipe;
    const origin = originHeaders(config, headers.origin);
    requireHome(options, pipe);
    requireRate(this.#rates, sender, retryIn);
    const opened = options.inboxes.of({ organizationId: service.organizationId, pipeId: params.pipeId });
    const inbox = opened instanceof Promise ? await opened : opened;
    if (options.space.isUnknown) await options.space.look();
    requireSpace(options.space, pipe, inbox, retryIn);
    return { pipe, sender, inbox, origin };
  }

  /** Counts what was accepted for the limits of the key. */
  spend({ principal }: Sender, rows: number, bytes: number): void {
    if (principal?.pushLimits === undefined) return;
    this.#rates.spend(principal.credentialId, principal.pushLimits, rows, bytes);
  }
}

/** Tells the sender of an HTTP request. */
export function retryAfter(reply: FastifyReply): RetryIn {
  return (seconds) => void reply.header("Retry-After", String(seconds));
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
function requireHome({ leases, isShared }: GateOptions, { pipe, service }: PushPipe): void {
  if (isShared && !traitsOf(service).isOwnProcess) {
    const message = "Rows can be sent to pipes of embedded services only where servers share a metadata database.";
    throw new AppError("BAD_REQUEST", message);
  }
  if (leases.holds("pipe", pipe.id)) return;
  const address = leases.addressOf(service.nodeId);
  const where = address === undefined ? "another server, which does not answer" : `the server at ${address}`;
  throw new AppError("SERVICE_UNAVAILABLE", `The rows of this pipe are accepted by ${where}. Send them there.`);
}

function requireRate(rates: PushRates, { principal }: Sender, retryIn: RetryIn): void {
  if (principal?.pushLimits === undefined) return;
  const seconds = rates.waitSeconds(principal.credentialId, principal.pushLimits);
  if (seconds === 0) return;
  retryIn(Math.ceil(seconds));
  throw new AppError("TOO_MANY_REQUESTS", "The key has sent more rows or bytes per second than its pushLimits allow.");
}

function requireSpace(space: Space, pipe: PushPipe, inbox: Inbox, retryIn: RetryIn): void {
  try {
    space.require(pipe, inbox);
  } catch (error) {
    const isInbox = error instanceof AppError && error.code === "INBOX_FULL";
    retryIn(isInbox ? retryAfterSeconds.inbox : retryAfterSeconds.disk);
    throw error;
  }
}
