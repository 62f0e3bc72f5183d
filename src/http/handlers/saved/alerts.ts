/** Alerts of the observability API: handlers write what is wanted, and the loop of alerts what it observes. */
import { isDeepStrictEqual } from "node:util";
import {
  type AlertBody,
  type AlertDefinition,
  type AlertRecord,
  type alertOperations,
  intervalMsOf,
} from "../../../api/alerts.ts";
import type { DashboardBody } from "../../../api/dashboards.ts";
import { setByServer, withoutNulls } from "../../../api/operation.ts";
import type { SavedSearchBody } from "../../../api/saved-searches.ts";
import { type AlertSubject, alertRequestOf } from "../../../charts/alerts/alert-request.ts";
import { type AppError, badRequest } from "../../../lib/errors.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import type { Stores } from "../../../store/open.ts";
import type { Alert } from "../../../store/saved/alerts.ts";
import { foundObject, type Observability } from "../lookups.ts";

export type AlertDeps = Pick<
  Stores,
  "alerts" | "alertEvaluations" | "webhooks" | "savedSearches" | "dashboards" | "services" | "pipeOverviews"
> & {
  readonly limits: OrganizationLimits;
  /** Triggers a pass of the loop that evaluates. */
  readonly poke: () => void;
};

type Names = keyof typeof alertOperations;

export function alertHandlers(deps: AlertDeps): Observability<Names> {
  const { alerts, limits } = deps;
  const found = (alert: Alert | undefined) => foundObject(alert, "Alert");
  return {
    listAlerts: async ({ query: { limit, offset } }, { organizationId }) => ({
      data: (await alerts.list(organizationId, { limit, offset })).map(recordOf),
      meta: { total: await alerts.count(organizationId), limit, offset },
    }),
    createAlert: async ({ body }, { organizationId }) => {
      const definition = await wanted(deps, organizationId, body);
      const alert = await alerts.create(organizationId, definition, limits.savedObjects);
      deps.poke();
      return { data: recordOf(alert) };
    },
    getAlert: async ({ params }, { organizationId }) => ({
      data: recordOf(found(await alerts.find(organizationId, params.alertId))),
    }),
    replaceAlert: async ({ params: { alertId }, body }, { organizationId, expected }) => {
      const before = found(await alerts.find(organizationId, alertId));
      const definition = await wanted(deps, organizationId, body, before.definition);
      const alert = found(await alerts.replace(organizationId, alertId, definition, expected));
      deps.poke();
      return { data: recordOf(alert) };
    },
    deleteAlert: async ({ params }, { organizationId, expected }) => {
      if (!(await alerts.delete(organizationId, params.alertId, expected))) found(undefined);
      return {};
    },
    listAlertEvaluations: async ({ params, query }, { organizationId }) => {
      const { id } = found(await alerts.find(organizationId, params.alertId));
      return { data: await deps.alertEvaluations.list(id, query.limit) };
    },
  };
}

function recordOf(alert: Alert): AlertRecord {
  const { definition, state, stateMessage, evaluatedUntil, errors } = alert;
  const { id, organizationId: teamId, stateChangedAt, version, createdAt, updatedAt } = alert;
  const isOn = definition.enabled;
  return {
    ...definition,
    channels: [definition.channel],
    ...{ id, teamId, state: isOn ? state : "DISABLED", stateMessage: isOn ? stateMessage : null, stateChangedAt },
    ...{ evaluatedUntil, silenced: null, executionErrors: [...errors], version, createdAt, updatedAt },
  };
}

const observed = ["state", "stateMessage", "stateChangedAt", "evaluatedUntil", "silenced", "executionErrors", "teamId"];

/** The definition, once what it names exists and can be evaluated. Throws AppError. */
async function wanted(
  deps: AlertDeps,
  organizationId: string,
  body: AlertBody,
  before?: AlertDefinition,
): Promise<AlertDefinition> {
  const { channels, channel = channels?.[0], ...others } = withoutNulls(body);
  const kept = Object.entries({ ...others, channel }).filter(
    ([name]) => !Object.hasOwn(setByServer, name) && !observed.includes(name),
  );
  const definition = Object.fromEntries(kept) as unknown as AlertDefinition;
  // It is only disabled, which needs nothing of what it names: that may be deleted by now.
  if (isDeepStrictEqual(definition, { ...before, enabled: false })) return definition;
  if ((await deps.webhooks.find(organizationId, definition.channel.webhookId)) === undefined) {
    throw missing("channel.webhookId", "webhook", definition.channel.webhookId);
  }
  if (definition.source === "state") {
    await requireWatched(deps, organizationId, definition);
    return definition;
  }
  const subject = await subjectOf(deps, organizationId, definition);
  const endMs = intervalMsOf("1d") * 10_000;
  alertRequestOf(definition, subject, { startMs: endMs - intervalMsOf(definition.interval), endMs });
  return definition;
}

async function requireWatched(deps: AlertDeps, organizationId: string, { serviceId, pipeId }: AlertDefinition) {
  if (serviceId !== undefined && (await deps.services.findIn(organizationId, serviceId)) === undefined) {
    throw missing("serviceId", "service", serviceId);
  }
  if (pipeId === undefined) return;
  const pipe = (await deps.pipeOverviews.listIn(organizationId)).find(({ id }) => id === pipeId);
  if (pipe === undefined) throw missing("pipeId", "pipe", pipeId);
  if (serviceId === undefined || pipe.serviceId === serviceId) return;
  throw missing("pipeId", `pipe of the service ${serviceId}`, pipeId);
}

async function subjectOf(deps: AlertDeps, organizationId: string, definition: AlertDefinition): Promise<AlertSubject> {
  const { source, savedSearchId = "", dashboardId = "", tileId = "" } = definition;
  if (source === "saved_search") {
    const search = await deps.savedSearches.find({ organizationId }, savedSearchId);
    if (search === undefined) throw missing("savedSearchId", "saved search", savedSearchId);
    return { kind: "savedSearch", search: search.content as unknown as SavedSearchBody };
  }
  const dashboard = await deps.dashboards.find({ organizationId }, dashboardId);
  if (dashboard === undefined) throw missing("dashboardId", "dashboard", dashboardId);
  const tile = (dashboard.content as unknown as DashboardBody).tiles.find(({ id }) => id === tileId);
  if (tile === undefined) throw missing("tileId", "tile of the dashboard", tileId);
  return { kind: "tile", tile };
}

function missing(path: string, noun: string, id: string): AppError {
  return badRequest(path, `there is no ${noun} ${id}`);
}
