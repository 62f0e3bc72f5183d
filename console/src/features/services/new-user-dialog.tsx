import { useState } from "react";
import { placeless } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { Checkbox, TextField } from "../../parts/field.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import type { Service } from "./service.ts";

type NewUserDialogProps = { readonly service: Service; readonly onClose: () => void };

/** Creates a user of the database, and shows its password once. */
export function NewUserDialog({ service, onClose }: NewUserDialogProps) {
  const [name, setName] = useState("");
  const [readonly, setReadonly] = useState(true);
  const create = useChange("createServiceUser", { changes: ["listServiceUsers"] });
  const { data, error } = create;
  if (data !== undefined) {
    return (
      <SecretDialog title={`User ${data.user.name}`} what="password" onKept={onClose}>
        <Secret label="Password" value={data.password} fileName={`${data.user.name}-password.txt`} />
      </SecretDialog>
    );
  }
  const submit = () => create.mutate({ params: { serviceId: service.id }, body: { name, readonly } });
  const busy = create.isPending;
  return (
    <FormDialog
      {...{ title: `Add a user to ${service.name}`, action: "Add user", busy, onClose, onSubmit: submit }}
      needs="admin"
      failure={placeless(error)}
    >
      <TextField label="Name" value={name} onChange={setName} error={error?.issueAt("name")} autoFocus mono />
      <Checkbox
        label="Read-only"
        hint="May ask, and may not change tables or data."
        value={readonly}
        onChange={setReadonly}
      />
    </FormDialog>
  );
}
