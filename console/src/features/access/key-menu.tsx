import { Ban, CircleCheck, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { placeless } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import type { Role } from "../../api/role.ts";
import { IconButton } from "../../parts/button.tsx";
import { ConfirmDialog, FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { Note } from "../../parts/note.tsx";
import { Select } from "../../parts/select.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import { roleOptions } from "./credentials.tsx";
import { type Expiry, ExpiryField, expireAtOf } from "./expiry-field.tsx";
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

type EditKeyDialogProps = { readonly apiKey: Key; readonly isOwn: boolean; readonly onClose: () => void };

/** Changes name, role and expiry of a key, of the version that is shown. */
function EditKeyDialog({ apiKey, isOwn, onClose }: EditKeyDialogProps) {
  // Others may change the key while the dialog is open: the server refuses then.
  const [key] = useState(apiKey);
  const [name, setName] = useState(key.name);
  const [role, setRole] = useState(key.roles[0] as Role);
  const [expiry, setExpiry] = useState<Expiry>({ choice: "same", date: "" });
  const update = useChange("updateKey", {
    changes: ["listKeys"],
    onDone: (changed) => {
      toast(`${changed.name} is saved`);
      onClose();
    },
  });
  const { error } = update;
  const submit = () => {
    const expireAt = expireAtOf(expiry);
    update.mutate({
      params: { keyId: key.id },
      body: {
        ...(name === key.name ? {} : { name }),
        ...(role === key.roles[0] ? {} : { roles: [role] }),
        ...(expireAt === undefined ? {} : { expireAt }),
      },
      ifMatch: key.version,
    });
  };
  const same = key.expireAt == null ? "As now: never" : `As now: ${key.expireAt.slice(0, 10)}`;
  return (
    <FormDialog
      {...{ title: `Edit ${key.name}`, action: "Save", busy: update.isPending, onClose, onSubmit: submit }}
      needs="admin"
      failure={placeless(error)}
    >
      <TextField label="Name" value={name} onChange={setName} error={error?.issueAt("name")} />
      <Select label="Role" value={role} options={roleOptions} onChange={setRole} error={error?.issueAt("roles")} />
      <ExpiryField value={expiry} onChange={setExpiry} same={same} error={error?.issueAt("expireAt")} />
      {isOwn && role !== key.roles[0] && (
        <Note tone="warn">This page is signed in with this key: it has the new role from the next request on.</Note>
      )}
    </FormDialog>
  );
}
