/** Query endpoints of services, and the statements that chosen keys run there. */
import type { FastifyReply } from "fastify";
import type { Input } from "../../../api/operation.ts";
import { originsOf, type queryEndpointOperations } from "../../../api/query-endpoints.ts";
import { AppError, refuseIssues } from "../../../lib/errors.ts";
import type { Stores } from "../../../store/open.ts";
import type { QueryEndpoint, QueryEndpointStore } from "../../../store/services/query-endpoints.ts";
import type { Context } from "../../caller/context.ts";
import { findService, type Management } from "../lookups.ts";
import { type QueryDeps, runStatement } from "./queries.ts";

type Operations = typeof queryEndpointOperations;

export type QueryEndpointDeps = QueryDeps & Pick<Stores, "queryEndpoints" | "credentials">;

export function queryEndpointHandlers(deps: QueryEndpointDeps) {
  return { ...configurationHandlers(deps), runAtQueryEndpoint: runHandler(deps) };
}

function configurationHandlers(
  deps: QueryEndpointDeps,
): Management<"getQueryEndpoint" | "setQueryEndpoint" | "deleteQueryEndpoint"> {
  const { queryEndpoints, credentials } = deps;
  return {
    getQueryEndpoint: async ({ params }) => view(await findEndpoint(queryEndpoints, await findService(deps, params))),
    setQueryEndpoint: async ({ params, body }) => {
      const service = await findService(deps, params);
      const known = new Set((await credentials.listKeys(params.organizationId)).map(({ id }) => id));
      refuseUnknownKeys(body.openApiKeys, known);
      await queryEndpoints.set(service.id, body);
      return view(await findEndpoint(queryEndpoints, service));
    },
    deleteQueryEndpoint: async ({ params }) => {
      const service = await findService(deps, params);
      if (!(await queryEndpoints.remove(service.id))) throw notConfigured(service.id);
      return undefined;
    },
  };
}

function runHandler(deps: QueryEndpointDeps) {
  return async (
    { params, query, body }: Input<Operations["runAtQueryEndpoint"]>,
    context: Context,
    reply: FastifyReply,
  ): Promise<void> => {
    const service = await findService(deps, params);
    const endpoint = await findEndpoint(deps.queryEndpoints, service);
    if (!endpoint.openApiKeys.includes(context.credentialId)) {
      throw new AppError("FORBIDDEN", "The key is not in openApiKeys of the service's query endpoint.");
    }
    const crossOrigin = crossOriginHeaders(endpoint, reply.request.headers.origin);
    const statement = {
      ...{ query: body.sql, queryId: body.runId, database: body.database, format: query.format },
      ...({ wake: "auto", readonly: !endpoint.roles.includes("sql_console_admin") } as const),
    };
    const headers = (to: FastifyReply) => [...deps.headers(to), ...crossOrigin];
    await runStatement({ ...deps, headers }, { service, body: statement, member: "sql" }, context, reply);
  };
}

/** Throws FORBIDDEN for a page that is not allowed. Programs send no origin. */
function crossOriginHeaders({ allowedOrigins }: QueryEndpoint, origin: string | undefined): string[] {
  if (origin === undefined) return [];
  const allowed = originsOf(allowedOrigins);
  if (!allowed.includes("*") && !allowed.includes(origin)) {
    throw new AppError("FORBIDDEN", "The origin of the page is not in allowedOrigins of the service's query endpoint.");
  }
  const exposed = ["access-control-expose-headers", "X-ClickHouse-Query-Id, X-ClickHouse-Summary"];
  return ["access-control-allow-origin", origin, "vary", "Origin", ...exposed];
}

async function findEndpoint(endpoints: QueryEndpointStore, { id }: { readonly id: string }): Promise<QueryEndpoint> {
  const endpoint = await endpoints.find(id);
  if (endpoint === undefined) throw notConfigured(id);
  return endpoint;
}

function notConfigured(serviceId: string): AppError {
  return new AppError("NOT_FOUND", `No query endpoint of service ${serviceId} is configured.`);
}

function refuseUnknownKeys(keys: readonly string[], known: ReadonlySet<string>): void {
  const message = "must be the id of a key of the organization";
  refuseIssues(keys.flatMap((id, index) => (known.has(id) ? [] : [{ path: `openApiKeys.${index}`, message }])));
}

function view({ id, roles, openApiKeys, allowedOrigins }: QueryEndpoint) {
  return { id, roles: [...roles], openApiKeys: [...openApiKeys], allowedOrigins };
}
