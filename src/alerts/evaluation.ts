/** Evaluates alerts: reads the last window by the planner of charts, and decides the state. */
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fulfils } from "../api/alert-condition.ts";
import type { AlertReading } from "../api/alerts.ts";
import type { ChartRequest } from "../api/charts.ts";
import type { DashboardBody } from "../api/dashboards.ts";
import type { SavedSearchBody } from "../api/saved-searches.ts";
import {
  type AlertSubject,
  type AlertWindow,
  alertRequestOf,
  valueWithoutRows,
} from "../charts/alerts/alert-request.ts";
import { lastWindow } from "../charts/alerts/windows.ts";
import type { Charts } from "../charts/charts.ts";
import { isAsleep } from "../charts/last-answers.ts";
import type { Outcome } from "../charts/outcome.ts";
import { AppError, errorCodes } from "../lib/errors.ts";
import { eachOf } from "../lib/limiter.ts";
import type { Logger } from "../lib/logger.ts";
import type { AlertEvaluations } from "../store/saved/alert-evaluations.ts";
import type { Alert, AlertStore } from "../store/saved/alerts.ts";
import type { SavedObjectStore } from "../store/saved/saved-objects.ts";
import { eventOf, failedFindingOf, findingOf, type WindowValues } from "./findings.ts";
import { type States, stateValues } from "./states.ts";

export type EvaluationDeps = {
  readonly alerts: Pick<AlertStore, "listEnabled">;
  readonly evaluations: Pick<AlertEvaluations, "record" | "recordDelay">;
  readonly savedSearches: Pick<SavedObjectStore<"savedSearch">, "find">;
  readonly dashboards: Pick<SavedObjectStore<"tiledDashboard">, "find">;
  readonly charts: Pick<Charts, "query">;
  /** What services and pipes of the organization are now. */
  readonly statesOf: (organizationId: string) => Promise<States>;
  /** False for a chart source of a service that another process has: it evaluates the alert. */
  readonly isOurs: (organizationId: string, sourceId: string) => Promise<boolean>;
  /** When alerts whose window could not be read are tried again, in ms; kept from pass to pass. */
  readonly retryAt: Map<string, number>;
  readonly logger: Logger;
};

/** Queries of alerts at the same time. */
const atOnce = 4;
/** Between two attempts to evaluate a window that may be read later. */
const retryMs = 60_000;

/** Instead of values: another process evaluates the alert. */
const elsewhere = Symbol("elsewhere");

const asleep = "The service does not run, and an alert does not wake it.";

/** Evaluates every alert whose last window was not evaluated yet. A failure of one leaves the others alone. */
export async function evaluateAlerts(deps: EvaluationDeps, signal: AbortSignal): Promise<void> {
  const alerts = await deps.alerts.listEnabled();
  const present = new Set(alerts.map(keyOf));
  for (const key of deps.retryAt.keys()) if (!present.has(key)) deps.retryAt.delete(key);
  await eachOf(alerts, atOnce, async (alert) => {
    if (signal.aborted) return;
    const window = lastWindow(alert.definition, Date.now());
    const isWaiting = (deps.retryAt.get(keyOf(alert)) ?? 0) > Date.now();
    if (window === undefined || isWaiting || !isDue(alert, window)) return;
    await evaluate(deps, alert, window, signal);
  });
}

/** A replaced alert does not wait for what the one before it waited for. */
function keyOf({ id, version }: Alert): string {
  return `${id} ${version}`;
}

function isDue({ evaluatedUntil, evaluatedVersion, version }: Alert, { endMs }: AlertWindow): boolean {
  return evaluatedUntil === null || Date.parse(evaluatedUntil) < endMs || evaluatedVersion !== version;
}

async function evaluate(
  deps: Required<EvaluationDeps>,
  alert: Alert,
  window: AlertWindow,
  signal: AbortSignal,
): Promise<void> {
  const found = await read(deps, alert, window, signal).catch((error: unknown) => {
    if (signal.aborted) throw error;
    return error;
  });
  if (found === elsewhere) return;
  const { evaluations, logger } = deps;
  if (isAsleep(found)) return await evaluations.recordDelay(alert, { message: asleep, errors: alert.errors });
  if (isValues(found)) {
    const finding = findingOf(alert, window, found);
    await evaluations.record(alert, finding, (state) => eventOf(alert, finding, state));
    return;
  }
  if (!(found instanceof AppError)) logger.error({ err: found, alertId: alert.id }, "an alert could not be evaluated");
  const failure = failedFindingOf(alert, window, found);
  if (!(found instanceof AppError) || !errorCodes[found.code].retryable) {
    await evaluations.record(alert, failure, (state) => eventOf(alert, failure, state));
    return;
  }
  // The window is read later, unless the next one ends before.
  deps.retryAt.set(keyOf(alert), Date.now() + retryMs);
  await evaluations.recordDelay(alert, { message: failure.message ?? "", errors: failure.errors });
}

function isValues(found: unknown): found is WindowValues {
  return typeof found === "object" && found !== null && "readings" in found;
}

/** The values of an alert of states, which one process reads for all, and of others, which the service's reads. */
async function read(
  deps: EvaluationDeps,
  alert: Alert,
  window: AlertWindow,
  signal: AbortSignal,
): Promise<WindowValues | typeof elsewhere> {
  if (alert.definition.source !== "state") return await readChart(deps, alert, window, signal);
  if (!(await deps.isOurs(alert.organizationId, ""))) return elsewhere;
  return stateValues(alert, await deps.statesOf(alert.organizationId), Date.now());
}

/** The values of the window, unless another process reads them. Throws AppError. */
async function readChart(
  deps: EvaluationDeps,
  alert: Alert,
  window: AlertWindow,
  signal: AbortSignal,
): Promise<WindowValues | typeof elsewhere> {
  const { definition, organizationId } = alert;
  const subject = await subjectOf(deps, alert).catch(async (error: unknown) => {
    if (await deps.isOurs(organizationId, "")) throw error;
  });
  if (subject === undefined) return elsewhere;
  const request = alertRequestOf(definition, subject, window);
  const [first] = request.series;
  if (first !== undefined && !(await deps.isOurs(organizationId, first.sourceId))) return elsewhere;
  // All alerts of an organization take turns, as the charts of one token do.
  const caller = { organizationId, credentialId: `alerts of ${organizationId}`, signal };
  const outcome = await deps.charts.query(request, { ...caller, format: "json", known: [] });
  if (outcome.stale) throw new AppError("SERVICE_ASLEEP", asleep);
  const rows = await rowsOf(outcome);
  const isGrouped = request.series.some(({ groupBy }) => groupBy.length > 0);
  const zero = valueWithoutRows(request);
  if (rows.length === 0 && zero !== undefined) {
    const reading = { group: [], value: zero, fires: fulfils(zero, definition) };
    return { readings: request.series.map((_, series) => ({ ...reading, series })), isGrouped };
  }
  return { readings: rows.flatMap((row) => readingsOf(row, request, alert)), isGrouped };
}

/** What the alert watches. Throws AppError when it does not exist any more. */
async function subjectOf(deps: EvaluationDeps, { definition, organizationId }: Alert): Promise<AlertSubject> {
  const { source, savedSearchId = "", dashboardId = "", tileId } = definition;
  if (source === "saved_search") {
    const search = (await deps.savedSearches.find({ organizationId }, savedSearchId))?.content;
    if (search === undefined) throw new AppError("NOT_FOUND", "The saved search of the alert does not exist any more.");
    return { kind: "savedSearch", search: search as unknown as SavedSearchBody };
  }
  const dashboard = (await deps.dashboards.find({ organizationId }, dashboardId))?.content as unknown;
  const tile = (dashboard as DashboardBody | undefined)?.tiles.find(({ id }) => id === tileId);
  if (tile === undefined) throw new AppError("NOT_FOUND", "The tile of the alert does not exist any more.");
  return { kind: "tile", tile };
}

type Row = Readonly<Record<string, unknown>> & { readonly group?: unknown[] };

async function rowsOf({ body }: Outcome): Promise<Row[]> {
  if (body === undefined) return [];
  const whole = body instanceof Readable ? await text(body) : body.map(String).join("");
  return (JSON.parse(whole) as { data: Row[] }).data;
}

function readingsOf(row: Row, { series, seriesReturnType }: ChartRequest, { definition }: Alert): AlertReading[] {
  const count = seriesReturnType === "ratio" ? 1 : series.length;
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const given = row[`series_${index}.data`];
    const value = given === null || given === undefined || given === "" ? Number.NaN : Number(given);
    if (!Number.isFinite(value)) return [];
    return [{ group: row.group ?? [], series: index, value, fires: fulfils(value, definition) }];
  });
}
