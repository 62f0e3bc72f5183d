import { useState } from "react";
import { call } from "../../api/client.ts";
import { refetch, useChange, useOperation } from "../../api/queries.ts";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Checkbox } from "../../parts/field.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import { type Alert, alertName } from "./alert.ts";
import { type OwnSubject, ownSubject, useKnown } from "./watched.ts";

type DeleteAlertDialogProps = {
  readonly alert: Alert;
  readonly onDeleted?: () => void;
  readonly onClose: () => void;
};

/** Asks once before an alert goes, and whether what it alone watches goes with it. */
export function DeleteAlertDialog({ alert, onDeleted, onClose }: DeleteAlertDialogProps) {
  const [isWhole, setWhole] = useState(false);
  const alerts = useOperation("listAlerts", { query: {} }, { pace: "slow" }).data?.data;
  const own = ownSubject(alert, alerts, useKnown());
  return (
    <ConfirmDialog
      danger
      needs="developer"
      title={`Delete ${alertName(alert)}?`}
      action="Delete alert"
      onConfirm={async () => {
        await remove(alert, isWhole ? own : undefined);
        onDeleted?.();
      }}
      onClose={onClose}
    >
      <p>Its evaluations go with it, and notifications that were not delivered yet.</p>
      {own === undefined ? (
        <p>What it watches stays.</p>
      ) : (
        <Checkbox
          label={`Delete the ${own.kind} ${own.object.name} too`}
          hint="No other alert watches it."
          value={isWhole}
          onChange={setWhole}
        />
      )}
    </ConfirmDialog>
  );
}

/** Deletes the version of the alert that is shown, or its subject, with which the server deletes the alert. */
async function remove(alert: Alert, own: OwnSubject | undefined): Promise<void> {
  const ifMatch = own?.object.version ?? alert.version;
  if (own === undefined) await call("deleteAlert", { params: { alertId: alert.id }, ifMatch });
  else if (own.kind === "tile") await call("deleteDashboard", { params: { dashboardId: own.object.id }, ifMatch });
  else await call("deleteSavedSearch", { params: { savedSearchId: own.object.id }, ifMatch });
  void refetch("listAlerts", "listSavedSearches", "listDashboards");
}

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
