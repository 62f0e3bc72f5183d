import { Ban, CircleCheck, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { IconButton } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import { EditKeyDialog } from "./edit-key-dialog.tsx";
import type { Key } from "./key.ts";

type KeyMenuProps = { readonly apiKey: Key; readonly isOwn: boolean };

/** What can be done with a key. The one that this page uses can neither delete nor disable itself. */
export function KeyMenu({ apiKey: key, isOwn }: KeyMenuProps) {
  const [dialog, setDialog] = useState<"edit" | "disable" | "delete">();
  const refusal = isOwn ? "This page is signed in with this key." : undefined;
  const update = useChange("updateKey", { changes: ["listKeys"] });
  const remove = useChange("deleteKey", { changes: ["listKeys", "listSessions"] });
  const params = { keyId: key.id };
  const set = (state: "enabled" | "disabled") =>
    update.mutateAsync({ params, body: { state }, ifMatch: key.version }).then(() => toast(`${key.name} is ${state}`));
  const close = () => setDialog(undefined);
  return (
    <>
      <Menu trigger={<IconButton label={`Actions of ${key.name}`} icon={Ellipsis} />}>
        <MenuItem needs="admin" icon={Pencil} onSelect={() => setDialog("edit")}>
          Edit
        </MenuItem>
        {key.state === "enabled" ? (
          <MenuItem needs="admin" refusal={refusal} icon={Ban} onSelect={() => setDialog("disable")}>
            Disable
          </MenuItem>
        ) : (
          <MenuItem needs="admin" icon={CircleCheck} onSelect={() => void set("enabled").catch(toastError)}>
            Enable
          </MenuItem>
        )}
        <MenuSeparator />
        <MenuItem danger needs="admin" refusal={refusal} icon={Trash2} onSelect={() => setDialog("delete")}>
          Delete
        </MenuItem>
      </Menu>
      {dialog === "edit" && <EditKeyDialog apiKey={key} isOwn={isOwn} onClose={close} />}
      {dialog === "disable" && (
        <ConfirmDialog
          title={`Disable ${key.name}?`}
          action="Disable key"
          onConfirm={() => set("disabled")}
          onClose={close}
        >
          <p>Requests with this key are refused from now on, and browsers that signed in with it are signed out.</p>
        </ConfirmDialog>
      )}
      {dialog === "delete" && (
        <ConfirmDialog
          danger
          title={`Delete ${key.name}?`}
          action="Delete key"
          onConfirm={() => remove.mutateAsync({ params, ifMatch: key.version })}
          onClose={close}
        >
          <p>
            Requests with this key are refused for good. Activities keep its name. To stop it for a while, disable it.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
