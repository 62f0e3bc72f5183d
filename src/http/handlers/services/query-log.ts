/** Running and recent queries of services. */
import type { Handlers, ManagementOperations } from "../../../api/operations.ts";
import { queryRecord } from "../../../api/queries.ts";
import { AppError, notFound } from "../../../lib/errors.ts";
import type { QueryHistory } from "../../../services/inventory/query-history.ts";
import type { QueryPlace, QueryRecord } from "../../../services/inventory/query-log.ts";
import type { ServiceStore } from "../../../store/services/services.ts";
import type { Context } from "../../caller/context.ts";
import { viewOf } from "../../views/view-of.ts";
import { findService } from "./service-users.ts";

export function queryLogHandlers(deps: {
  services: ServiceStore;
  history: Pick<QueryHistory, "page" | "kill">;
}): Pick<Handlers<ManagementOperations, Context>, "listQueries" | "cancelQuery"> {
  const { services, history } = deps;
  return {
    listQueries: async ({ params, query }) => {
      const service = await findService(services, params);
      const after = query.cursor === undefined ? undefined : placeOf(query.cursor);
      const page = await history.page(service, { limit: query.limit, after, failed: query.failed === "true" });
      return {
        ...(page.asOf === undefined ? {} : { asOf: page.asOf }),
        live: page.live,
        running: page.running.map(view),
        recent: page.records.map(view),
        ...(page.next === undefined ? {} : { cursor: cursorOf(page.next) }),
      };
    },
    cancelQuery: async ({ params }) => {
      const service = await findService(services, params);
      if (!(await history.kill(service, params.queryId))) throw notFound("Running query", params.queryId);
      return undefined;
    },
  };
}

function cursorOf({ endedAt, queryId }: QueryPlace): string {
  return Buffer.from(`${endedAt} ${queryId}`).toString("base64url");
}

function placeOf(cursor: string): QueryPlace {
  const [, endedAt, queryId] = /^(\d{1,17}) (.*)$/s.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (endedAt !== undefined && queryId !== undefined) return { endedAt, queryId };
  const message = "is not a cursor of this operation";
  throw new AppError("BAD_REQUEST", `Invalid request query: cursor: ${message}`, {
    issues: [{ path: "cursor", message }],
  });
}

const recordView = viewOf(queryRecord);

function view({ errorCode, error, totalRows, ...record }: QueryRecord) {
  const failure = errorCode === 0 ? undefined : { code: errorCode, message: error };
  return recordView({ ...record, totalRows: totalRows || undefined, error: failure });
}
