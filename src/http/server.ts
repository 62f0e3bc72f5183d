/**
 * The HTTP edge: mounts the operation tables on Fastify, used as a router only. Every answer carries a request id;
 * every error becomes the shape of its interface here and nowhere else.
 */
import { randomUUID } from "node:crypto";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Operation } from "../api/operation.ts";
import { type ChildAbort, childOf } from "../lib/abort.ts";
import { AppError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { remember } from "../lib/remember.ts";
import type { Authenticator, Principal } from "./auth.ts";
import { parseJson } from "./body.ts";
import { type Context, mayCall } from "./context.ts";
import { errorBody, type Interface, toAppError } from "./errors.ts";
import type { RateLimiter } from "./rate-limit.ts";
import { validate } from "./validate.ts";

type AnyHandler = (input: never, context: Context, reply: FastifyReply) => Promise<unknown>;

export type ServerOptions = {
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly logger: Logger;
  readonly bodyLimitBytes: number;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly management: {
    readonly operations: Record<string, Operation>;
    readonly handlers: Record<string, AnyHandler>;
  };
  readonly observability: {
    readonly operations: Record<string, Operation>;
    readonly handlers: Record<string, AnyHandler>;
  };
  /** Adds routes that are not operations: health, metrics, documents, console. */
  readonly extend: (server: FastifyInstance) => void;
  readonly signal: AbortSignal;
};

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const server = fastify({
    ...(options.tls === undefined ? {} : { https: options.tls }),
    bodyLimit: options.bodyLimitBytes,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
    forceCloseConnections: "idle",
    genReqId: () => randomUUID(),
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  server.setErrorHandler((error, request, reply) => sendError(options, error, request, reply));
  mount(server, options, "management");
  mount(server, options, "observability");
  options.extend(server);
  server.setNotFoundHandler((request) => {
    throw new AppError("NOT_FOUND", `There is no ${request.method} ${pathOf(request)}.`);
  });
  await server.ready();
  return server;
}

/** Interface A paths begin with `/v1`; everything under `/api` is interface B. */
function interfaceOf(request: FastifyRequest): Interface {
  return request.url.startsWith("/api/") ? "observability" : "management";
}

function mount(server: FastifyInstance, options: ServerOptions, name: Interface): void {
  const { operations, handlers } = options[name];
  const methodsByPath = new Map<string, Set<string>>();
  for (const [id, operation] of Object.entries(operations)) {
    const url = operation.path.replaceAll(/\{(\w+)\}/g, ":$1");
    const methods = methodsByPath.get(url) ?? new Set();
    methodsByPath.set(url, methods.add(operation.method));
    server.route({
      method: operation.method,
      url,
      exposeHeadRoute: false,
      // Before the body is read: a caller without rights learns nothing about it and costs nothing.
      onRequest: (request, reply) => admit(options, name, operation, request, reply),
      handler: (request, reply) => serve(options, name, operation, handlers[id] as AnyHandler, request, reply),
    });
  }
  for (const [url, methods] of methodsByPath) refuseOtherMethods(server, url, [...methods]);
}

function refuseOtherMethods(server: FastifyInstance, url: string, allowed: string[]): void {
  const others = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter((m) => !allowed.includes(m));
  server.route({
    method: others,
    url,
    // Answered before any body is read or parsed.
    onRequest: async (request, reply) => {
      reply.header("Allow", allowed.join(", "));
      throw new AppError("METHOD_NOT_ALLOWED", `${request.method} is not allowed here; use ${allowed.join(" or ")}.`);
    },
    handler: async () => undefined,
  });
}

const principals = new WeakMap<FastifyRequest, Principal>();

/** Authenticates, counts and authorizes a request; throws what it may not pass. */
async function admit(
  options: ServerOptions,
  name: Interface,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const header = request.headers.authorization;
  const principal = await (name === "management"
    ? options.authenticator.basic(header, request.ip)
    : options.authenticator.bearer(header, request.ip));
  countRequest(options.rateLimiter, name, principal, reply);
  const params = validate(operation.params, request.params, "path") as Record<string, string>;
  if (params.organizationId !== undefined && params.organizationId !== principal.organizationId) {
    throw new AppError("NOT_FOUND", `Organization ${params.organizationId} does not exist.`);
  }
  if (!mayCall(principal.role, operation.access)) {
    throw new AppError("FORBIDDEN", `This needs the role ${operation.access}; the key has ${principal.role}.`);
  }
  principals.set(request, principal);
}

async function serve(
  options: ServerOptions,
  name: Interface,
  operation: Operation,
  handler: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const principal = principals.get(request) as Principal;
  const query = operation.query && validate(operation.query, request.query, "query");
  const body = operation.body && validate(operation.body, readBody(request), "body");
  const abort = abortOnClose(request, options.signal);
  try {
    const context: Context = {
      organizationId: principal.organizationId,
      role: principal.role,
      credentialId: principal.credentialId,
      requestId: request.id,
      get signal() {
        return abort.signal();
      },
    };
    const result = await handler({ params: request.params, query, body } as never, context, reply);
    if (reply.sent || name === "observability") return result;
    reply.type("application/json; charset=utf-8");
    return operation.result === undefined ? envelope(request.id) : envelope(request.id, result as object);
  } finally {
    abort.release();
  }
}

/** Ids are uuids and need no escaping; results that cannot change keep their JSON. */
function envelope(requestId: string, result?: object): Buffer {
  const json = result === undefined ? noResult : Object.isFrozen(result) ? frozenJson(result) : resultJson(result);
  const head = `{"status":200,"requestId":"${requestId}"`;
  const bytes = Buffer.allocUnsafe(head.length + json.length);
  bytes.write(head, "latin1");
  json.copy(bytes, head.length);
  return bytes;
}

const noResult = Buffer.from("}");
const resultJson = (value: object) => Buffer.from(`,"result":${JSON.stringify(value)}}`);
const frozenJson = remember(resultJson);

function readBody(request: FastifyRequest): unknown {
  if (request.body === undefined) {
    if (request.headers["content-type"] === undefined && Number(request.headers["content-length"] ?? 0) > 0) {
      throw new AppError("UNSUPPORTED_MEDIA_TYPE", "Send the body with Content-Type: application/json.");
    }
    throw new AppError("INVALID_JSON", "The request body is empty; send a JSON document.");
  }
  return parseJson(request.body as Buffer);
}

const rateHeaders = {
  management: {
    limit: "x-ratelimit-limit",
    remaining: "x-ratelimit-remaining",
    reset: "x-ratelimit-reset",
    policy: "x-ratelimit-policy",
  },
  observability: {
    limit: "ratelimit-limit",
    remaining: "ratelimit-remaining",
    reset: "ratelimit-reset",
    policy: "ratelimit-policy",
  },
} as const;

function countRequest(limiter: RateLimiter, name: Interface, principal: Principal, reply: FastifyReply): void {
  const { limit, windowSeconds } = limiter.rule;
  const decision = limiter.hit(principal.credentialId);
  const headers = rateHeaders[name];
  reply.header(headers.limit, limit);
  reply.header(headers.remaining, decision.remaining);
  reply.header(headers.reset, decision.resetSeconds);
  reply.header(headers.policy, limiter.policy);
  if (decision.allowed) return;
  reply.header("Retry-After", Math.max(1, Math.ceil(decision.resetSeconds)));
  throw new AppError("TOO_MANY_REQUESTS", `More than ${limit} requests in ${windowSeconds} s with this credential.`);
}

/**
 * A signal that aborts when the client disconnects before the answer, or when the server stops. Made when it is first
 * asked for: most handlers never wait.
 */
function abortOnClose(request: FastifyRequest, parent: AbortSignal): { signal(): AbortSignal; release(): void } {
  let child: ChildAbort | undefined;
  const { socket } = request.raw;
  const onClose = () => child?.abort(new Error("the client went away"));
  return {
    signal: () => {
      if (child === undefined) {
        child = childOf(parent);
        if (socket.destroyed) onClose();
        else socket.once("close", onClose);
      }
      return child.signal;
    },
    release: () => {
      if (child === undefined) return;
      socket.off("close", onClose);
      child[Symbol.dispose]();
    },
  };
}

function sendError(options: ServerOptions, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = toAppError(error);
  const log = options.logger.child({ requestId: request.id, method: request.method, path: pathOf(request) });
  if (known.status >= 500) log.error({ err: error, code: known.code }, "request failed");
  else log.debug({ code: known.code, reason: known.message }, "request refused");
  if (known.code === "UNAUTHORIZED") {
    const scheme = interfaceOf(request) === "management" ? 'Basic realm="millrace", charset="UTF-8"' : "Bearer";
    reply.header("WWW-Authenticate", scheme);
  }
  reply.status(known.status).send(errorBody(interfaceOf(request), known, request.id));
}

function pathOf(request: FastifyRequest): string {
  return request.url.split("?", 1)[0] as string;
}
