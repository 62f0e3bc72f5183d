import { ConfirmDialog } from "../../parts/dialog.tsx";
import { type Alert, alertName } from "./alert.ts";

type DeleteAlertDialogProps = {
  readonly alert: Alert;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
};

/** Asks once before an alert goes. */
export function DeleteAlertDialog({ alert, onConfirm, onClose }: DeleteAlertDialogProps) {
  return (
    <ConfirmDialog
      danger
      needs="developer"
      title={`Delete ${alertName(alert)}?`}
      action="Delete alert"
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>
        Its evaluations go with it, and notifications that were not delivered yet. What it watches stays:{" "}
        {alert.source === "tile" ? "the tile" : "the saved search"} and the webhook.
      </p>
    </ConfirmDialog>
  );
}
