import { useChange } from "../../api/queries.ts";
import { toast, toastError } from "../../parts/toast.tsx";
import { type Alert, alertName } from "./alert.ts";

/** Enables or disables the version of an alert that the page shows. */
export function useAlertToggle(alert: Alert) {
  const replace = useChange("replaceAlert", {
    changes: ["listAlerts", "getAlert", "listAlertEvaluations"],
    onDone: ({ data }) => toast(`${alertName(data)} is ${data.enabled ? "enabled" : "disabled"}`),
  });
  const { id, version, enabled } = alert;
  const input = { params: { alertId: id }, body: { ...alert, enabled: !enabled }, ifMatch: version };
  return { toggle: () => replace.mutate(input, { onError: toastError }), isToggling: replace.isPending };
}
