import { Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { IconButton } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { type Alert, alertName } from "./alert.ts";
import type { Webhook } from "./watched.ts";
import { WebhookDialog } from "./webhook-dialog.tsx";

type WebhookMenuProps = { readonly webhook: Webhook; readonly users: readonly Alert[] };

/** What can be done with a webhook. One that an alert uses is not deleted. */
export function WebhookMenu({ webhook, users }: WebhookMenuProps) {
  const [edits, setEdits] = useState(false);
  const [deletes, setDeletes] = useState(false);
  const remove = useChange("deleteWebhook", { changes: ["listWebhooks"] });
  const names = users.map(alertName).join(", ");
  return (
    <>
      <Menu trigger={<IconButton small label={`Actions of ${webhook.name}`} icon={Ellipsis} />}>
        <MenuItem needs="developer" icon={Pencil} onSelect={() => setEdits(true)}>
          Edit
        </MenuItem>
        <MenuSeparator />
        <MenuItem
          danger
          needs="developer"
          refusal={users.length === 0 ? undefined : `Used by ${names}.`}
          icon={Trash2}
          onSelect={() => setDeletes(true)}
        >
          Delete
        </MenuItem>
      </Menu>
      {edits && <WebhookDialog webhook={webhook} onClose={() => setEdits(false)} />}
      {deletes && (
        <ConfirmDialog
          danger
          needs="developer"
          title={`Delete ${webhook.name}?`}
          action="Delete webhook"
          onConfirm={() => remove.mutateAsync({ params: { webhookId: webhook.id }, ifMatch: webhook.version })}
          onClose={() => setDeletes(false)}
        >
          <p>Its URL, headers and parameters go with it, and nobody can read them again.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
