import { useChange } from "../../api/queries.ts";
import { toast, toastError } from "../../parts/toast.tsx";
import { type Alert, alertName } from "./alert.ts";

const changes = ["listAlerts", "getAlert", "listAlertEvaluations"] as const;

/** Enables or disables the version of an alert that the page shows, or deletes it. */
export function useAlertChanges(alert: Alert) {
  const { id, version, enabled } = alert;
  const params = { alertId: id };
  const replace = useChange("replaceAlert", {
    changes,
    onDone: ({ data }) => toast(`${alertName(data)} is ${data.enabled ? "enabled" : "disabled"}`),
  });
  const remove = useChange("deleteAlert", { changes: ["listAlerts"] });
  return {
    toggle: () =>
      replace.mutate({ params, body: { ...alert, enabled: !enabled }, ifMatch: version }, { onError: toastError }),
    isToggling: replace.isPending,
    remove: () => remove.mutateAsync({ params, ifMatch: version }),
  };
}
