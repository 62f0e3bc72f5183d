import { useState } from "react";
import { placeless } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import type { Role } from "../../api/role.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Select } from "../../parts/select.tsx";
import { toast } from "../../parts/toast.tsx";
import { roleOptions } from "./credential-cells.tsx";
import { type Expiry, ExpiryField, expireAtOf } from "./expiry-field.tsx";
import type { Key } from "./key.ts";

type EditKeyDialogProps = { readonly apiKey: Key; readonly isOwn: boolean; readonly onClose: () => void };

/** Changes name, role and expiry of a key, of the version that is shown. */
export function EditKeyDialog({ apiKey, isOwn, onClose }: EditKeyDialogProps) {
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
      <TextField label="Name" value={name} onChange={setName} error={error?.issueAt("name")} autoFocus />
      <Select label="Role" value={role} options={roleOptions} onChange={setRole} error={error?.issueAt("roles")} />
      <ExpiryField value={expiry} onChange={setExpiry} same={same} error={error?.issueAt("expireAt")} />
      {isOwn && role !== key.roles[0] && (
        <Note tone="warn">This page is signed in with this key: it has the new role from the next request on.</Note>
      )}
    </FormDialog>
  );
}
