/** Statements that callers run in services. */
import { randomUUID } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { QueryBody } from "../../../api/queries.ts";
import { codesOf } from "../../../clickhouse/error-codes.ts";
import { ClickHouseException } from "../../../clickhouse/exception.ts";
import { tokenize } from "../../../clickhouse/lexer.ts";
import { parameterText } from "../../../clickhouse/sql.ts";
import { untilReached } from "../../../endpoint/forward/forward-upstream.ts";
import type { Upstreams } from "../../../endpoint/forward/upstream.ts";
import { traceHeadersOf } from "../../../endpoint/handoff/passed-headers.ts";
import { AppError, type ErrorCode, type Issue } from "../../../lib/errors.ts";
import type { ServiceAccess, ServiceLease } from "../../../services/access.ts";
import type { AuditEvent } from "../../../store/access/audit-events.ts";
import type { Stores } from "../../../store/open.ts";
import type { Service } from "../../../store/services/services.ts";
import { streamQuery } from "../../answer/query-stream.ts";
import type { Context } from "../../caller/context.ts";
import { findService, type ServiceParams } from "../lookups.ts";

export type QueryDeps = Pick<Stores, "services"> & {
  readonly access: Pick<ServiceAccess, "acquire" | "acquireRunning" | "explained">;
  readonly upstreams: Upstreams;
  readonly note: (event: AuditEvent) => void;
  /** Headers of a streamed response: names and values, alternating. */
  readonly headers: (reply: FastifyReply) => readonly string[];
};

type QueryInput = { readonly params: ServiceParams; readonly body: QueryBody };

/** The engine has no user of this name, so that a stand-in with the rights of the role runs the statement. */
const apiUser = "millrace-api";
/** Errors that mean the role lacks a right. */
const refusals = codesOf("ACCESS_DENIED", "READONLY", "SETTING_CONSTRAINT_VIOLATION");

export function queryHandlers(deps: QueryDeps) {
  return {
    runQuery: async ({ params, body }: QueryInput, context: Context, reply: FastifyReply): Promise<void> => {
      const service = await findService(deps, params);
      await runStatement(deps, { service, body, member: "query" }, context, reply);
    },
  };
}

export type StatementToRun = {
  readonly service: Service;
  readonly body: QueryBody;
  /** The member of the request that has the statement, for errors. */
  readonly member: string;
};

/** Runs a statement with the rights of the caller's role, and streams its result. Throws before the first byte. */
export async function runStatement(
  deps: QueryDeps,
  { service, body, member }: StatementToRun,
  context: Context,
  reply: FastifyReply,
): Promise<void> {
  try {
    await run(deps, service, body, context, reply);
  } catch (error) {
    if (!(error instanceof ClickHouseException)) throw error;
    if (refusals.has(error.code)) deps.note(refusalEvent(service, error, context));
    throw engineRefusal(error, body.query, member);
  }
}

async function run(deps: QueryDeps, { id }: Service, body: QueryBody, context: Context, reply: FastifyReply) {
  const query = {
    principal: {
      user: apiUser,
      readonly: body.readonly || context.role === "read_only" ? 2 : 0,
      restricted: false,
      address: context.address,
    } as const,
    requestHeaders: {
      ...traceHeadersOf(reply.request.headers),
      "user-agent": `millrace-api/${context.credentialId}`,
    },
    statement: Buffer.from(body.query),
    parameters: parametersOf(body),
    headers: deps.headers(reply),
    signal: context.signal,
  };
  const attempt = async () => {
    const lease = await leaseOf(deps, id, body.wake, context.signal);
    try {
      const { port, key } = lease.forwardAddress;
      const onHead = () => void reply.hijack();
      await streamQuery({ ...query, upstream: deps.upstreams.to(port), key }, reply.raw, onHead);
    } catch (error) {
      throw await deps.access.explained(id, error);
    } finally {
      lease.release();
    }
  };
  const unreachable = () => new AppError("SERVICE_UNAVAILABLE", "The service's engine does not answer.");
  await untilReached(attempt, context.signal, unreachable);
}

async function leaseOf(
  { access }: QueryDeps,
  serviceId: string,
  wake: QueryBody["wake"],
  signal: AbortSignal,
): Promise<Pick<ServiceLease, "forwardAddress" | "release">> {
  if (wake === "auto") return await access.acquire(serviceId, signal);
  const lease = access.acquireRunning(serviceId);
  if (lease === undefined) throw new AppError("SERVICE_ASLEEP", "The service does not run, and wake is never.");
  return lease;
}

/** Formats with a place for it report an exception after the first byte there, and the response ends regularly. */
const exceptionInFormat = { http_write_exception_in_output_format: "1" };

function parametersOf({ query, params = {}, database, settings = {}, format, queryId }: QueryBody): URLSearchParams {
  const parameters = new URLSearchParams({
    query_id: queryId ?? randomUUID(),
    default_format: format,
    ...exceptionInFormat,
  });
  if (database !== undefined) parameters.set("database", database);
  for (const [name, value] of Object.entries(settings)) {
    if (value !== undefined) parameters.set(name, typeof value === "boolean" ? String(Number(value)) : String(value));
  }
  const composites = compositesIn(query, Object.keys(params).length);
  for (const [name, value] of Object.entries(params)) {
    const text = composites.has(name) ? String(value) : parameterText(String(value));
    parameters.set(`param_${name}`, value === null ? "\\N" : text);
  }
  return parameters;
}

const compositeForm = /^\{\s*(\w+)\s*:\s*(?:Array|Map|Tuple|Nested|Point|Ring|(?:Multi)?(?:LineString|Polygon))\b/;

/** Parameters whose value the engine reads as in a statement, with escapes in quotes only. */
function compositesIn(statement: string, values: number): ReadonlySet<string> {
  const tokens = values === 0 ? [] : tokenize(statement).filter(({ kind }) => kind === "parameter");
  return new Set(tokens.flatMap(({ text }) => compositeForm.exec(text)?.[1] ?? []));
}

function refusalEvent({ id, organizationId }: Service, error: ClickHouseException, context: Context): AuditEvent {
  const actor = { actorType: "api_key", actor: context.credentialId, address: context.address } as const;
  return { type: "statement_refused", organizationId, serviceId: id, ...actor, detail: error.message };
}

/** Converts an error of the engine or the guard about a caller's statement into an error of the API. */
const table: readonly (readonly [ErrorCode, ReadonlySet<number>])[] = [
  ["FORBIDDEN", codesOf("ACCESS_DENIED", "READONLY", "SETTING_CONSTRAINT_VIOLATION")],
  ["TIMEOUT", codesOf("TIMEOUT_EXCEEDED", "TOO_SLOW")],
  ["OVERLOADED", codesOf("TOO_MANY_SIMULTANEOUS_QUERIES", "CANNOT_SCHEDULE_TASK")],
  ["SERVICE_UNAVAILABLE", codesOf("NETWORK_ERROR")],
];

/** `engine` has the engine's code and name; a syntax error has its place in `statement`, a `member` of the request. */
function engineRefusal(error: ClickHouseException, statement: string, member: string): AppError {
  const code = table.find(([, codes]) => codes.has(error.code))?.[0] ?? "QUERY_FAILED";
  const position = positionIn(statement, error.message);
  const issue: Issue = { path: member, message: error.message, ...(position === undefined ? {} : { position }) };
  return new AppError(code, error.message, {
    cause: error,
    issues: [issue],
    engine: { code: error.code, name: error.codeName },
  });
}

/** The engine counts bytes from 1. */
function positionIn(statement: string, message: string): number | undefined {
  const found = /^(?:[^:]*: )?Syntax error[^:]*: failed at position (\d+)/.exec(message)?.[1];
  if (found === undefined) return undefined;
  return Buffer.from(statement)
    .subarray(0, Number(found) - 1)
    .toString().length;
}
