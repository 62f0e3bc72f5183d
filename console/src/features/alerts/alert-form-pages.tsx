import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { type ChartDefinition, seriesNames } from "../../charts/definition.ts";
import { chartRefusal, countsRows, searchOf, tileOf } from "../../charts/watchable.ts";
import { UnsavedDialog } from "../../parts/dialog.tsx";
import { Note } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import { toast } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import { type Alert, alertName } from "./alert.ts";
import { AlertFields } from "./alert-fields.tsx";
import {
  type AlertForm,
  bodyOf,
  changed,
  formOf,
  newForm,
  ofStates,
  type Subject,
  subjectOf,
  theChart,
} from "./alert-form.ts";
import type { NewAlertSearch } from "./new-alert-search.ts";

/** A new alert, of the chart or states in the address or of something that is saved already. */
export function NewAlertPage() {
  const { title, chart: given, metric, limit } = useSearch({ strict: false }) as NewAlertSearch;
  const refusal = given === undefined ? undefined : chartRefusal(given);
  const chart = refusal === undefined ? given : undefined;
  const name = chart && (title ?? seriesNames(chart.series).join(", "));
  const [begun] = useState(() =>
    metric === undefined ? newForm(name, chart) : { ...newForm(title, undefined), ...ofStates(metric, limit) },
  );
  const [form, setForm] = useState(begun);
  const navigate = useNavigate();
  const { attempt, busy, error } = useAttempt();
  const create = async () => {
    const alertId = await createAlert(form, chart);
    await navigate({ to: "/alerts/$alertId", params: { alertId } });
  };
  return (
    <Page title="New alert" needs="developer">
      <UnsavedDialog isChanged={!busy && JSON.stringify(form) !== JSON.stringify(begun)} />
      {refusal !== undefined && <Note tone="warn">The chart cannot be watched. {refusal}</Note>}
      <AlertFields
        form={form}
        onChange={(next) => setForm(changed(form, next, name ?? title))}
        {...{ chart, busy, error }}
        title={name}
        action="Create alert"
        onSubmit={() => void attempt(create)}
        cancel={{ to: "/alerts" }}
      />
    </Page>
  );
}

/** Changes an alert. */
export function EditAlertPage() {
  const { alertId } = useParams({ strict: false }) as { alertId: string };
  const query = useOperation("getAlert", { params: { alertId } }, { pace: "never" });
  // An older version may be in memory, which the server would refuse to change.
  const [isNewest, setNewest] = useState(false);
  const { refetch } = query;
  useEffect(() => void refetch().then(() => setNewest(true)), [refetch]);
  return <Answer query={query}>{({ data }) => (isNewest ? <EditAlert shown={data} /> : <Skeleton />)}</Answer>;
}

function EditAlert({ shown }: { readonly shown: Alert }) {
  // Others may change the alert meanwhile: the server refuses then.
  const [alert] = useState(shown);
  const [begun] = useState(() => formOf(alert));
  const [form, setForm] = useState(begun);
  const navigate = useNavigate();
  const { attempt, busy, error } = useAttempt();
  const address = { to: "/alerts/$alertId", params: { alertId: alert.id } } as const;
  const save = async () => {
    await replaceAlert(form, alert);
    toast(`${alertName(alert)} is saved. Its last window is evaluated again.`);
    await navigate(address);
  };
  return (
    <Page title={`Edit ${alertName(alert)}`} needs="developer">
      <UnsavedDialog isChanged={!busy && JSON.stringify(form) !== JSON.stringify(begun)} />
      <AlertFields
        form={form}
        onChange={(next) => setForm({ ...form, ...next })}
        {...{ busy, error }}
        action="Save"
        onSubmit={() => void attempt(save)}
        cancel={address}
      />
    </Page>
  );
}

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
