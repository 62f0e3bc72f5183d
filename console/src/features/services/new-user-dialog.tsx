import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Checkbox, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Secret } from "../../parts/secret.tsx";
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
      <Dialog open title={`User ${data.user.name}`} onClose={onClose} actions={<Button onClick={onClose}>Done</Button>}>
        <Secret label="Password" value={data.password} fileName={`${data.user.name}-password.txt`} />
        <Note tone="warn">Keep the password now: it is not shown again.</Note>
      </Dialog>
    );
  }
  const submit = () => {
    if (!create.isPending) create.mutate({ params: { serviceId: service.id }, body: { name, readonly } });
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" look="primary" needs="admin" busy={create.isPending}>
        Add user
      </Button>
    </>
  );
  return (
    <Dialog open title={`Add a user to ${service.name}`} onClose={onClose} actions={actions} onSubmit={submit}>
      <TextField label="Name" value={name} onChange={setName} error={error?.issueAt("name")} autoFocus mono />
      <Checkbox
        label="Read-only"
        hint="May ask, and may not change tables or data."
        value={readonly}
        onChange={setReadonly}
      />
      {error !== null && error.issues.length === 0 && <Note tone="bad">{error.message}</Note>}
    </Dialog>
  );
}
