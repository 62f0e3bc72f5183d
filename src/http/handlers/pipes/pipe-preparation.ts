/** Looks at sources before a pipe is created. Nothing of a request is stored. */
import { withoutNulls } from "../../../api/operation.ts";
import type { pipePreparationOperations } from "../../../api/pipe-preparation.ts";
import { type Issue, refuseIssues } from "../../../lib/errors.ts";
import { checkSource } from "../../../pipes/control/definition/definition.ts";
import { proposedTable } from "../../../pipes/control/definition/proposal.ts";
import { CheckRun } from "../../../sources/contract/checks.ts";
import type { Stores } from "../../../store/open.ts";
import { findService, type Management } from "../lookups.ts";
import { type CreationDeps, checkNewPipe, refuseUnlessRunning } from "./pipe-creation.ts";

export type PreparationDeps = CreationDeps & Pick<Stores, "services">;

export type PreparationHandlers = Management<keyof typeof pipePreparationOperations>;

const defaultLimit = 100;

export function pipePreparationHandlers(deps: PreparationDeps): PreparationHandlers {
  return {
    validatePipe: async ({ params, body }, { signal }) => {
      const service = await findService(deps, params);
      const run = new CheckRun({ goesOn: true });
      const { organizationId } = params;
      const accepted = await checkNewPipe(deps, { organizationId, service, body }, run, signal);
      const checks = run.outcomes;
      const warnings = accepted?.warnings ?? [];
      return {
        ok: checks.every(({ ok }) => ok),
        checks,
        ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
        ...(accepted?.createTable === undefined ? {} : { createTable: accepted.createTable }),
      };
    },
    listSource: async ({ params, body }, { signal }) => {
      await findService(deps, params);
      const { kind, config, issues } = checkSource(withoutNulls(body.source));
      const isListed = ({ path }: Issue) => path === `source.${kind.key}.${kind.listing.member}`;
      refuseIssues(issues.filter((issue) => !isListed(issue)));
      const page = {
        within: body.within ?? undefined,
        cursor: body.cursor ?? undefined,
        limit: body.limit ?? defaultLimit,
      };
      const { organizationId } = params;
      return await deps.checks.list({ organizationId, kind, config, page }, signal);
    },
    discoverSchema: async ({ params, body }, { signal }) => {
      const service = await findService(deps, params);
      refuseUnlessRunning(service, "discovery");
      const { kind, config, issues } = checkSource(withoutNulls(body.source));
      refuseIssues(issues);
      const { organizationId } = params;
      const { database, table } = body.destination ?? {};
      const target = { database: database ?? service.connection?.database ?? "default", table: table ?? "new_table" };
      const request = { organizationId, serviceId: service.id, kind, config, database: target.database };
      const { found, form } = await deps.checks.discover(request, signal);
      const proposed = proposedTable(found, target, form);
      return { fields: [...found.fields], samples: [...found.samples], proposedTable: proposed };
    },
  };
}
