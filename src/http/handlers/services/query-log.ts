/** Running and recent queries of services. */
import { queryRecord } from "../../../api/queries.ts";
import { notFound } from "../../../lib/errors.ts";
import type { QueryHistory } from "../../../services/inventory/query-history.ts";
import type { QueryPlace, QueryRecord } from "../../../services/inventory/query-log.ts";
import type { Stores } from "../../../store/open.ts";
import { refusedQuery } from "../../request/validate.ts";
import { viewOf } from "../../views/view-of.ts";
import { findService, type Management } from "../lookups.ts";

export function queryLogHandlers(
  deps: Pick<Stores, "services"> & { readonly history: Pick<QueryHistory, "page" | "kill"> },
): Management<"listQueries" | "cancelQuery"> {
  const { history } = deps;
  return {
    listQueries: async ({ params, query }) => {
      const service = await findService(deps, params);
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
      const service = await findService(deps, params);
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
  throw refusedQuery("cursor", "is not a cursor of this list");
}

const recordView = viewOf(queryRecord);

function view({ errorCode, error, totalRows, ...record }: QueryRecord) {
  const failure = errorCode === 0 ? undefined : { code: errorCode, message: error };
  return recordView({ ...record, totalRows: totalRows || undefined, error: failure });
}
