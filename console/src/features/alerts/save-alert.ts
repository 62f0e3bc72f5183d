/** Saves alerts. A chart is kept first as what the server watches: rows as a saved search, other values as a tile. */
import { call } from "../../api/client.ts";
import { refetch } from "../../api/queries.ts";
import type { ChartDefinition } from "../../charts/definition.ts";
import { countsRows, searchOf, tileOf } from "../../charts/watchable.ts";
import type { Alert } from "./alert.ts";
import { type AlertForm, bodyOf, type Subject, subjectOf, theChart } from "./alert-form.ts";

/** Creates the alert of the form, and returns its id. What was kept for a refused alert is deleted. Throws ApiError. */
export async function createAlert(form: AlertForm, chart: ChartDefinition | undefined): Promise<string> {
  if (form.watches !== theChart || chart === undefined) return await create(form, chosen(form));
  const kept = await keep(form.name.trim() || "Alert", chart);
  try {
    return await create(form, kept.subject);
  } catch (error) {
    await kept.undo().catch(() => undefined);
    throw error;
  } finally {
    void refetch("listSavedSearches", "listDashboards");
  }
}

/** Forms without a subject are not sent. */
function chosen(form: AlertForm): Subject {
  const subject = subjectOf(form);
  if (subject === undefined) throw new Error("Choose what the alert watches first.");
  return subject;
}

async function create(form: AlertForm, subject: Subject): Promise<string> {
  const { data } = await call("createAlert", { body: bodyOf(form, subject) });
  void refetch("listAlerts");
  return data.id;
}

type Kept = { readonly subject: Subject; readonly undo: () => Promise<unknown> };

async function keep(name: string, chart: ChartDefinition): Promise<Kept> {
  if (countsRows(chart)) {
    const { data } = await call("createSavedSearch", { body: searchOf(name, chart) });
    const params = { savedSearchId: data.id };
    return { subject: { source: "saved_search", ...params }, undo: () => call("deleteSavedSearch", { params }) };
  }
  const { data } = await call("createDashboard", { body: { name, tiles: [tileOf(name, chart)] } });
  const params = { dashboardId: data.id };
  const tileId = data.tiles[0]?.id ?? "";
  return { subject: { source: "tile", ...params, tileId }, undo: () => call("deleteDashboard", { params }) };
}

/** Replaces the version of the alert that the form shows. Throws ApiError. */
export async function replaceAlert(form: AlertForm, alert: Alert): Promise<void> {
  const params = { alertId: alert.id };
  await call("replaceAlert", { params, body: bodyOf(form, chosen(form), alert), ifMatch: alert.version });
  void refetch("listAlerts", "getAlert", "listAlertEvaluations");
}
