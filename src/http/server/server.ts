/**
 * The HTTP edge: mounts the operation tables on Fastify, used as a router only. Every response carries a request id;
 * only this file converts errors to the form of their API.
 */
import { randomUUID } from "node:crypto";
import { maxHeaderSize } from "node:http";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Operation } from "../../api/operation.ts";
import { placeOfMember } from "../../api/operations.ts";
import type { CertificateFiles } from "../../lib/certificate-files.ts";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { type ActivityLog, recorded } from "../activities.ts";
import { sendEnvelope, sendNotModified } from "../answer/answer.ts";
import { AnswerCache, type KeptAnswer, keptAnswer, namedTags, type Revision } from "../answer/answer-cache.ts";
import { answerClientError } from "../answer/client-error.ts";
import { type ApiName, errorBody, toAppError } from "../answer/errors.ts";
import { addFixedHeaders, fixedHeaders, setHeaders, taggedHeaders } from "../answer/headers.ts";
import { type Admission, admit, authorize, countRequest, identify, rateHeaders } from "../caller/admission.ts";
import { type Context, RequestContext } from "../caller/context.ts";
import type { Principal } from "../caller/principals.ts";
import { readBody, refuseBody } from "../request/body.ts";
import type { RequestHead } from "../request/hosts.ts";
import { validate, validateQuery } from "../request/validate.ts";
import { followCertificate, tlsOptions } from "./tls.ts";

type AnyHandler = (input: never, context: Context, reply: FastifyReply) => Promise<unknown>;

export type ServerOptions = Admission & {
  readonly logger: Logger;
  readonly bodyLimitBytes: number;
  readonly tls: CertificateFiles | undefined;
  readonly management: {
    readonly operations: Record<string, Operation>;
    readonly handlers: Record<string, AnyHandler>;
  };
  readonly observability: {
    readonly operations: Record<string, Operation>;
    readonly handlers: Record<string, AnyHandler>;
  };
  /** Identifies the state of the store: see `Database.revision`. */
  readonly revision: () => Revision;
  /** Identifies the state of services, pipes and their sampled numbers. */
  readonly sampledRevision: () => Revision;
  readonly activities: ActivityLog;
  /** Adds routes that are not operations: health, metrics, documents, console. */
  readonly extend: (server: FastifyInstance) => void;
  /** Throws for a request whose Host does not name this server. */
  readonly requireKnownHost: (request: RequestHead) => void;
  readonly signal: AbortSignal;
  /** A request with its body must be complete within this time; checked every `checkEveryMs`. Shortened in tests. */
  readonly requestTimeoutMs?: number;
  readonly checkEveryMs?: number;
};

/** What the router needs of them. */
type RouterOptions = Omit<ServerOptions, "extend">;

/** When to retry a request for which there is no capacity or no running service. */
const retryAfterSeconds = 5;
const requestTimeoutMs = 60_000;
const headersTimeoutMs = 30_000;
const checkEveryMs = 5_000;

export async function createApiServer(options: ServerOptions): Promise<FastifyInstance> {
  const server = newRouter(options);
  const answers = { stored: new AnswerCache(options.revision), sampled: new AnswerCache(options.sampledRevision) };
  mount(server, options, answers, "management");
  mount(server, options, answers, "observability");
  options.extend(server);
  return await readyRouter(server);
}

/** A router without routes: limits, headers, bodies and errors. */
export function newRouter(options: RouterOptions): FastifyInstance {
  const requestTimeout = options.requestTimeoutMs ?? requestTimeoutMs;
  // A timeout for heads longer than the one for requests would disable the latter.
  const headersTimeout = Math.min(headersTimeoutMs, requestTimeout);
  const http = {
    connectionsCheckingInterval: options.checkEveryMs ?? checkEveryMs,
    headersTimeout,
    // Node refuses such requests without a body: see requireHost.
    requireHostHeader: false,
  };
  const server = fastify({
    ...(options.tls === undefined ? { http } : { https: { ...http, ...tlsOptions(options.tls) } }),
    requestTimeout,
    bodyLimit: options.bodyLimitBytes,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxHeaderSize },
    forceCloseConnections: "idle",
    // The router's own response has another form: see onRequest.
    return503OnClosing: false,
    genReqId: () => randomUUID(),
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => void sendRouterError(options, error, request, reply),
  });
  server.decorateRequest("principal", null);
  server.decorateRequest("rate", null);
  server.removeAllContentTypeParsers();
  if (options.tls !== undefined) followCertificate(server.server, options.tls);
  addFixedHeaders(server, options.tls !== undefined);
  let isClosing = false;
  server.addHook("preClose", async () => {
    isClosing = true;
  });
  // Before everything else, so that it holds for every path.
  server.addHook("onRequest", (request, _reply, done) => {
    requireHost(request);
    options.requireKnownHost(request);
    // Requests on open connections still arrive while the server closes.
    done(isClosing ? new AppError("OVERLOADED", "This server is stopping. Try again in a moment.") : undefined);
  });
  // Node refuses other expectations than 100-continue without a body. A server may ignore them (RFC 9110, 10.1.1).
  server.server.on("checkExpectation", (request, response) => server.server.emit("request", request, response));
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, ({ headers }, body, done) => {
    const coding = headers["content-encoding"] ?? "identity";
    if (coding.toLowerCase() === "identity") return done(null, body);
    done(
      new AppError("UNSUPPORTED_MEDIA_TYPE", `A body with Content-Encoding ${coding} is not read here; send it plain.`),
    );
  });
  server.setErrorHandler((error, request, reply) => sendError(options, error, request, reply));
  return server;
}

/** After the last route. */
export async function readyRouter(server: FastifyInstance): Promise<FastifyInstance> {
  server.setNotFoundHandler((request) => {
    throw new AppError("NOT_FOUND", `There is no ${request.method} ${pathOf(request)}.`);
  });
  await server.ready();
  return server;
}

/** HTTP/1.1 demands the header (RFC 9112, 3.2). */
function requireHost({ raw }: FastifyRequest): void {
  if (raw.httpVersion !== "1.1" || raw.headers.host !== undefined) return;
  throw new AppError("BAD_REQUEST", "The Host header is missing.");
}

type Answers = { readonly stored: AnswerCache; readonly sampled: AnswerCache };

/** Paths of the management API begin with `/v1`; everything under `/api` is the observability API. */
function apiOf(request: FastifyRequest): ApiName {
  return request.url.startsWith("/api/") ? "observability" : "management";
}

/** The path of an operation as the router takes it. */
export function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

function mount(server: FastifyInstance, options: ServerOptions, answers: Answers, name: ApiName): void {
  const { operations, handlers } = options[name];
  const methodsByPath = new Map<string, Set<string>>();
  const tls = options.tls !== undefined;
  for (const [id, operation] of Object.entries(operations)) {
    const url = routePath(operation.path);
    const methods = methodsByPath.get(url) ?? new Set();
    methodsByPath.set(url, methods.add(operation.method));
    if (operation.crossOrigin === true) {
      addPreflight(server, url);
      methods.add("OPTIONS");
    }
    const headers = isTagged(name, operation) ? taggedHeaders(tls) : fixedHeaders(tls);
    const cache =
      operation.storedOnly === true ? answers.stored : operation.sampled === true ? answers.sampled : undefined;
    const read = operation.method === "PUT" ? readerOf(operations, handlers, operation) : undefined;
    const route = { id, options, cache, name, operation, handler: handlers[id] as AnyHandler, headers, read };
    server.route({
      method: operation.method,
      url,
      exposeHeadRoute: false,
      // Before the body is read: a caller without rights learns nothing about it and costs nothing. A GET has none.
      ...(operation.method === "GET"
        ? {}
        : { onRequest: async (request: FastifyRequest) => void (await admit(options, name, operation, request)) }),
      handler: (request, reply) => serve(route, request, reply),
    });
  }
  for (const [url, methods] of methodsByPath) refuseOtherMethods(server, url, [...methods]);
}

/** The handler of the GET of the same path. */
function readerOf(
  operations: Readonly<Record<string, Operation>>,
  handlers: Readonly<Record<string, AnyHandler | undefined>>,
  { path }: Operation,
): AnyHandler | undefined {
  const [id = ""] = Object.entries(operations).find(([, one]) => one.method === "GET" && one.path === path) ?? [];
  return handlers[id];
}

/**
 * Lets browsers send the request of a page of another origin, with a key and without cookies. The request itself is
 * refused if its origin is not allowed.
 */
export function addPreflight(server: FastifyInstance, url: string): void {
  server.options(url, async ({ headers: { origin } }, reply) => {
    if (origin !== undefined) {
      reply.header("access-control-allow-origin", origin).header("access-control-allow-methods", "POST");
      reply.header("access-control-allow-headers", "authorization, content-type").header("vary", "Origin");
    }
    return reply.status(204).send();
  });
}

/** Every GET of the management API with an envelope has an entity tag; in the other API those that are cached. */
function isTagged(name: ApiName, { method, storedOnly, streams }: Operation): boolean {
  return method === "GET" && streams === undefined && (name === "management" || storedOnly === true);
}

/** Answers 405 with the methods that are allowed. */
export function refuseOtherMethods(server: FastifyInstance, url: string, allowed: readonly string[]): void {
  const others = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "TRACE"].filter(
    (method) => !allowed.includes(method),
  );
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

type Route = {
  readonly id: string;
  readonly options: ServerOptions;
  /** Undefined: the response is made for each request. */
  readonly cache: AnswerCache | undefined;
  readonly name: ApiName;
  readonly operation: Operation;
  readonly handler: AnyHandler;
  /** What a PUT replaces. */
  readonly read: AnyHandler | undefined;
  /** Headers of every response: names and values, alternating. */
  readonly headers: readonly string[];
};

/** Answers without a promise where nothing has to be waited for: a promise costs as much as reading a head. */
function serve(route: Route, request: FastifyRequest, reply: FastifyReply): unknown {
  if (request.principal !== null) return serveAdmitted(route, request, reply, request.principal);
  const principal = identify(route.options, route.name, request);
  return principal instanceof Promise
    ? principal.then((found) => serveRead(route, request, reply, found))
    : serveRead(route, request, reply, principal);
}

/** Answers a GET of this principal, from the cache if the same was answered before. */
function serveRead(route: Route, request: FastifyRequest, reply: FastifyReply, principal: Principal): unknown {
  countRequest(route.options, request, principal);
  const kept = route.cache?.kept(principal, request.url);
  if (kept !== undefined) return sendTagged(route, request, reply, kept);
  authorize(route.operation, request, principal);
  return serveAdmitted(route, request, reply, principal);
}

async function serveAdmitted(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  principal: Principal,
): Promise<unknown> {
  const { options, name, operation } = route;
  refuseUnversioned(operation, request);
  const query = validateQuery(operation.query, request.query);
  const elsewhere = (member: string) => placeOfMember(operation, member);
  if (operation.body === undefined) refuseBody(request);
  const body = operation.body && validate(operation.body, readBody(request), "body", elsewhere);
  if (name === "observability") addRateHeaders(options, request, reply);
  const context = new RequestContext(principal, request, options.signal);
  try {
    const answer = () => route.handler({ params: request.params, query, body } as never, context, reply);
    if (route.cache !== undefined) {
      const made = await route.cache.of(principal, request.url, answer);
      return sendTagged(route, request, reply, made);
    }
    const { read } = route;
    const before = read && (async () => await read({ params: request.params, query: {} } as never, context, reply));
    const made = { id: route.id, operation, ...callOf(request, body, context), before };
    const result = await recorded(options.activities, made, answer, options.logger);
    if (name === "observability") return result;
    if (operation.streams !== undefined) return;
    if (isTagged(name, operation)) {
      return sendTagged(route, request, reply, keptAnswer(result), context.nextPageHeader(request.url));
    }
    sendEnvelope(reply, headersOf(route, request), operation.result && JSON.stringify(result));
  } finally {
    context.release();
  }
}

/** Ignoring the condition would make a change that the caller has excluded. */
export function refuseUnversioned({ method, versioned }: Operation, request: FastifyRequest): void {
  if (method === "GET" || versioned === true || request.headers["if-match"] === undefined) return;
  throw new AppError("BAD_REQUEST", "This operation does not accept If-Match: what it changes has no version.");
}

/** What an activity says of its request. */
export function callOf(request: FastifyRequest, body: unknown, context: Context) {
  const { organizationId, credentialId: id, address, requestId } = context;
  const actor = { id, address, userAgent: request.headers["user-agent"], requestId };
  return { organizationId, params: request.params as Record<string, string>, body, actor };
}

/**
 * Sends the response, or 304 when the caller's copy is current. The envelope's request id differs each time, so
 * the tag is weak.
 */
function sendTagged(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  { json, bytes, tag }: KeptAnswer,
  more: readonly string[] = [],
): unknown {
  const headers = headersOf(route, request);
  headers.push("etag", `W/${tag}`, ...more);
  if (isNamed(request, tag)) return sendNotModified(reply, headers);
  if (route.name === "management") return sendEnvelope(reply, headers, json, bytes);
  setHeaders(reply, headers);
  return reply.type("application/json; charset=utf-8").send(json);
}

/** Whether the caller's copy is current. */
export function isNamed(request: FastifyRequest, tag: string): boolean {
  const known = namedTags(request.headers["if-none-match"]);
  return known.includes(tag) || known.includes("*");
}

function headersOf({ options, name, headers }: Route, request: FastifyRequest): string[] {
  return rateHeaders(options, name, request, [...headers]);
}

/** Adds them to responses that are sent through the router. */
function addRateHeaders(options: RouterOptions, request: FastifyRequest, reply: FastifyReply): void {
  const headers = rateHeaders(options, apiOf(request), request);
  setHeaders(reply, headers);
}

/** Answers a request that the router cannot route. No hook has seen it. */
function sendRouterError(options: RouterOptions, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const headers = fixedHeaders(options.tls !== undefined);
  setHeaders(reply, headers);
  let refusal = error;
  try {
    requireHost(request);
    options.requireKnownHost(request);
  } catch (hostError) {
    refusal = hostError;
  }
  sendError(options, refusal, request, reply);
}

function sendError(options: RouterOptions, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = toAppError(error, request.routeOptions.bodyLimit);
  const log = options.logger.child({ requestId: request.id, method: request.method, path: pathOf(request) });
  if (request.raw.socket.destroyed) log.info({ reason: known.message }, "the client went away");
  else if (known.status >= 500) log.error({ err: error, code: known.code }, "request failed");
  else log.debug({ code: known.code, reason: known.message }, "request refused");
  if (known.code === "UNAUTHORIZED" && !options.browser.isFromPage(request.headers)) {
    const isBasic = apiOf(request) === "management" && pathOf(request) !== "/metrics";
    reply.header("WWW-Authenticate", isBasic ? 'Basic realm="millrace", charset="UTF-8"' : "Bearer");
  }
  if ([503, 507].includes(known.status) && !reply.hasHeader("Retry-After")) {
    reply.header("Retry-After", String(retryAfterSeconds));
  }
  addRateHeaders(options, request, reply);
  reply.status(known.status).send(errorBody(apiOf(request), known, request.id));
}

function pathOf(request: FastifyRequest): string {
  return request.url.split("?", 1)[0] as string;
}
