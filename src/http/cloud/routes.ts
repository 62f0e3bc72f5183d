/**
 * Mounts the dialect of the ClickHouse Cloud API: same credentials, roles, limits and activities, and the operations of
 * the management API called by their ids.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Operation } from "../../api/operation.ts";
import { type UnsupportedPart, unsupportedParts } from "../../cloud-api/dialect.ts";
import { errorInTheirs } from "../../cloud-api/names.ts";
import { cloudApiDocument } from "../../cloud-api/openapi.ts";
import { type CloudMembers, performCloudRequest } from "../../cloud-api/perform.ts";
import type { CallOperation, CloudRoute } from "../../cloud-api/route.ts";
import { cloudRoutes } from "../../cloud-api/routes.ts";
import { AppError } from "../../lib/errors.ts";
import { recorded } from "../activities.ts";
import { sendEnvelope, sendNotModified } from "../answer/answer.ts";
import { keptAnswer } from "../answer/answer-cache.ts";
import { fixedHeaders, pageHeaders, taggedHeaders } from "../answer/headers.ts";
import { admit, rateHeaders } from "../caller/admission.ts";
import { RequestContext } from "../caller/context.ts";
import { readBody } from "../request/body.ts";
import { validate, validateQuery } from "../request/validate.ts";
import {
  addPreflight,
  callOf,
  isNamed,
  newRouter,
  readyRouter,
  refuseOtherMethods,
  refuseUnversioned,
  routePath,
  type ServerOptions,
} from "../server/server.ts";

export type CloudApiOptions = Omit<ServerOptions, "extend"> & {
  readonly cloudMembers: CloudMembers;
  readonly version: string;
};

/** The operations of both APIs, by their ids. */
type ServedOptions = CloudApiOptions & Pick<ServerOptions["management"], "operations" | "handlers">;

/** `prefix` stands before `/v1`: `/cloud`, or nothing. */
export function addCloudApi(server: FastifyInstance, options: CloudApiOptions, prefix: string): void {
  const { management, observability } = options;
  const served: ServedOptions = {
    ...options,
    operations: { ...management.operations, ...observability.operations },
    handlers: { ...management.handlers, ...observability.handlers },
  };
  const methodsByPath = new Map<string, Set<string>>();
  const add = (method: string, path: string, operation: Operation, answer: Answerer) => {
    const url = prefix + routePath(path);
    const methods = methodsByPath.get(url) ?? new Set();
    methodsByPath.set(url, methods.add(method));
    if (operation.crossOrigin === true) {
      addPreflight(server, url);
      methods.add("OPTIONS");
    }
    server.route({
      method,
      url,
      exposeHeadRoute: false,
      // Before the body is read, as in the management API.
      onRequest: async (request) => {
        await admit(options, "management", operation, request).catch((error: unknown) => {
          throw errorInTheirs(error);
        });
        if (operation.anyContentType === true && request.headers.authorization !== undefined) {
          request.headers["content-type"] = "application/json";
        }
      },
      handler: answer,
    });
  };
  for (const route of cloudRoutes) {
    add(route.method, route.path, route.operation, (request, reply) => answer(served, route, request, reply));
  }
  for (const part of unsupportedParts) addUnsupported(options, part, add);
  addDocument(server, options, prefix);
  for (const [url, methods] of methodsByPath) refuseOtherMethods(server, url, [...methods]);
}

type Answerer = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

async function answer(options: ServedOptions, route: CloudRoute, request: FastifyRequest, reply: FastifyReply) {
  const { principal } = request;
  if (principal === null) throw new Error("the request was not admitted");
  refuseUnversioned(route.operation, request);
  const context = new RequestContext(principal, request, options.signal);
  try {
    const query = validateQuery(route.query, request.query);
    const body = route.body === undefined ? undefined : readBody(request);
    // The path of a query names no organization: it is that of the key.
    const params = { organizationId: principal.organizationId, ...(request.params as Record<string, string>) };
    const given = { params, query, body, userAgent: request.headers["user-agent"] ?? "" };
    const call = callerOf(options, request, reply, context);
    const result = await performCloudRequest(route, given, call, options.cloudMembers);
    if (route.operation.streams === undefined) send(options, route, request, reply, result);
  } finally {
    context.release();
  }
}

/** Validation, handler and activity of an operation, as if its own request had come. */
function callerOf(
  options: ServedOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  context: RequestContext,
): CallOperation {
  const { operations, handlers } = options;
  return async (id, given) => {
    const [operation, handler] = [operations[id] as Operation, handlers[id]];
    if (handler === undefined) throw new Error(`no handler of ${id}`);
    const query = validateQuery(operation.query, given.query ?? {});
    const body = operation.body && validate(operation.body, given.body, "body");
    const { params } = given;
    const made = { id, operation, ...callOf(request, body, context), params };
    const handle = () => handler({ params, query, body } as never, context, reply);
    return await recorded(options.activities, made, handle, options.logger);
  };
}

function send(
  options: CloudApiOptions,
  { method }: CloudRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  result: unknown,
): void {
  const tls = options.tls !== undefined;
  const rate = rateHeaders(options, "management", request);
  if (method !== "GET") {
    sendEnvelope(reply, [...fixedHeaders(tls), ...rate], result === undefined ? undefined : JSON.stringify(result));
    return;
  }
  const { json, tag } = keptAnswer(result);
  const headers = [...taggedHeaders(tls), ...rate, "etag", `W/${tag}`];
  if (isNamed(request, tag)) sendNotModified(reply, headers);
  else sendEnvelope(reply, headers, json);
}

type Add = (method: string, path: string, operation: Operation, answer: Answerer) => void;

/** Its path, and all below it: reading may say that there is nothing, everything else that it is not supported. */
function addUnsupported(options: CloudApiOptions, { path, what, read }: UnsupportedPart, add: Add): void {
  const refuse: Answerer = async () => {
    throw new AppError("NOT_SUPPORTED", `${what} is not supported by this server; see docs/compat.md`);
  };
  const missing: Answerer = async () => {
    throw new AppError(
      "NOT_FOUND",
      read === "none" ? `${what} is not configured.` : `${what} of this id does not exist.`,
    );
  };
  const nothing: Answerer = async (request, reply) => {
    sendEnvelope(
      reply,
      [...fixedHeaders(options.tls !== undefined), ...rateHeaders(options, "management", request)],
      "[]",
    );
  };
  const readable = { empty: [nothing, missing], none: [missing, missing] } as const;
  const [whole, below] = read === undefined ? [refuse, refuse] : readable[read];
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [name, z.uuid()]);
  const operation: Operation = {
    ...{ method: "GET", path, tag: "Unsupported", summary: what, access: "read" },
    params: z.object(Object.fromEntries(names)),
  };
  add("GET", path, operation, whole);
  add("GET", `${path}/*`, operation, below);
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    // Deleting what is not configured has its effect already, and clients take 404 for that.
    const gone = method === "DELETE" && read === "none";
    for (const url of [path, `${path}/*`]) add(method, url, operation, gone ? missing : refuse);
  }
}

function addDocument(server: FastifyInstance, { version }: CloudApiOptions, prefix: string): void {
  let text: string | undefined;
  for (const path of ["/openapi.json", "/v1"]) {
    server.get(`${prefix}${path}`, async (_request, reply) => {
      text ??= JSON.stringify(cloudApiDocument(version, prefix));
      return reply.headers(pageHeaders).header("cache-control", "no-cache").type("application/json").send(text);
    });
  }
}

/** A listener with the dialect alone and no prefix, for clients that lose the prefix of a URL. */
export async function createCloudServer(options: CloudApiOptions): Promise<FastifyInstance> {
  const server = newRouter(options);
  addCloudApi(server, options, "");
  return await readyRouter(server);
}
