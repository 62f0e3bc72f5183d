/** Rows of sources, their fields and values, and suggestions of sources. */
import type { FastifyReply } from "fastify";
import type { exploreOperations, ReadMeta } from "../../../api/explore.ts";
import type { Input, Result } from "../../../api/operation.ts";
import type { ChartsRoom } from "../../../charts/open.ts";
import { found } from "../../../lib/errors.ts";
import type { ServiceStore } from "../../../store/services/services.ts";
import type { Context } from "../../caller/context.ts";

export type ExploreDeps = Pick<ChartsRoom, "search" | "fields" | "suggestions"> & {
  readonly services: Pick<ServiceStore, "findIn">;
};

type Operations = typeof exploreOperations;
type ExploreHandlers = {
  readonly [Name in keyof Operations]: (
    input: Input<Operations[Name]>,
    context: Context,
    reply: FastifyReply,
  ) => Promise<Result<Operations[Name]>>;
};

export function exploreHandlers({ search, fields, suggestions, services }: ExploreDeps): ExploreHandlers {
  /** The headers say the same as those of series. */
  const dated = <T extends { readonly meta: ReadMeta }>(reply: FastifyReply, answer: T): T => {
    reply.header("X-Chart-Cache", answer.meta.cache);
    reply.header("X-Data-As-Of", answer.meta.asOf);
    return answer;
  };
  return {
    searchRows: async ({ body }, context, reply) => dated(reply, await search.rows(body, context)),
    listFields: async ({ params, query }, context, reply) => dated(reply, await fields.list(params.id, query, context)),
    listFieldValues: async ({ params, query }, context, reply) =>
      dated(reply, await fields.values(params.id, query, context)),
    suggestSources: async ({ query }, context, reply) => {
      found(await services.findIn(context.organizationId, query.serviceId), "Service", query.serviceId);
      return dated(reply, await suggestions.of(query, context));
    },
  };
}
