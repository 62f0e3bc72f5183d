/** Sources of charts: create, list, get, replace, delete. */

import type { chartSourceOperations, SourceBody } from "../../../api/chart-sources.ts";
import { chartSourceRecordOf, sourceContent } from "../../../charts/sources.ts";
import { badRequest, notFound } from "../../../lib/errors.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import type { Stores } from "../../../store/open.ts";
import { foundObject, type Observability } from "../lookups.ts";

export type ChartSourceDeps = Pick<Stores, "chartSources" | "services"> & { readonly limits: OrganizationLimits };

type Names = keyof typeof chartSourceOperations;

export function chartSourceHandlers(deps: ChartSourceDeps): Observability<Names> {
  const { chartSources: sources } = deps;
  const found = <T>(row: T | undefined) => foundObject(row, "Source");
  const content = async (organizationId: string, body: SourceBody) => {
    const made = sourceContent(body);
    if ((await deps.services.findIn(organizationId, made.serviceId)) === undefined) {
      throw badRequest("serviceId", notFound("Service", made.serviceId).message);
    }
    return made;
  };
  return {
    listSources: async (_, { organizationId }) => ({
      data: (await sources.list(organizationId)).map(chartSourceRecordOf),
    }),
    createSource: async ({ body }, { organizationId }) => {
      const made = await content(organizationId, body);
      return { data: chartSourceRecordOf(await sources.create(organizationId, made, deps.limits.chartSources)) };
    },
    getSource: async ({ params }, { organizationId }) => ({
      data: chartSourceRecordOf(found(await sources.find(organizationId, params.id))),
    }),
    replaceSource: async ({ params, body }, { organizationId, expected }) => {
      found(await sources.find(organizationId, params.id));
      const made = await content(organizationId, body);
      return { data: chartSourceRecordOf(found(await sources.replace(organizationId, params.id, made, expected))) };
    },
    deleteSource: async ({ params }, { organizationId, expected }) => {
      if (!(await sources.delete(organizationId, params.id, expected))) found(undefined);
      return {};
    },
  };
}
