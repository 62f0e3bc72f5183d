import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { seriesNames } from "../../charts/definition.ts";
import { chartRefusal } from "../../charts/watchable.ts";
import { Note } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import { AlertFields } from "./alert-fields.tsx";
import { newForm, ofStates } from "./alert-form.ts";
import type { NewAlertSearch } from "./new-alert-search.ts";
import { createAlert } from "./save-alert.ts";

/** A new alert, of the chart or states in the address or of something that is saved already. */
export function NewAlertPage() {
  const { title, chart: given, metric, limit } = useSearch({ strict: false }) as NewAlertSearch;
  const refusal = given === undefined ? undefined : chartRefusal(given);
  const chart = refusal === undefined ? given : undefined;
  const name = chart && (title ?? seriesNames(chart.series).join(", "));
  const [form, setForm] = useState(() =>
    metric === undefined ? newForm(name, chart) : { ...newForm(title, undefined), ...ofStates(metric, limit) },
  );
  const navigate = useNavigate();
  const { attempt, busy, error } = useAttempt();
  const create = async () => {
    const alertId = await createAlert(form, chart);
    await navigate({ to: "/alerts/$alertId", params: { alertId } });
  };
  return (
    <Page title="New alert" needs="developer">
      {refusal !== undefined && <Note tone="warn">The chart cannot be watched. {refusal}</Note>}
      <AlertFields
        form={form}
        onChange={(next) => setForm({ ...form, ...next })}
        {...{ chart, busy, error }}
        title={name}
        action="Create alert"
        onSubmit={() => void attempt(create)}
        cancel={{ to: "/alerts" }}
      />
    </Page>
  );
}
