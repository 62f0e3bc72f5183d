import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { Page } from "../../parts/page.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import { toast } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import { type Alert, alertName } from "./alert.ts";
import { AlertFields } from "./alert-fields.tsx";
import { formOf } from "./alert-form.ts";
import { replaceAlert } from "./save-alert.ts";

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
  const [form, setForm] = useState(() => formOf(alert));
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
