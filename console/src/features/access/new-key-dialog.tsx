import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useChange } from "../../api/queries.ts";
import type { Role } from "../../api/role.ts";
import { sessionStore } from "../../api/session-state.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Secret } from "../../parts/secret.tsx";
import { Select } from "../../parts/select.tsx";
import { roleOptions } from "./credential-cells.tsx";
import { type Expiry, ExpiryField, expireAtOf } from "./expiry-field.tsx";

/** Creates an API key, and shows its secret once. */
export function NewKeyDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("read_only");
  const [expiry, setExpiry] = useState<Expiry>({ choice: "90", date: "" });
  const create = useChange("createKey", { changes: ["listKeys"] });
  const { data, error } = create;
  if (data !== undefined) return <CreatedKeyDialog created={data} onClose={onClose} />;
  const submit = () => {
    if (create.isPending) return;
    create.mutate({ body: { name, roles: [role], expireAt: expireAtOf(expiry) ?? null } });
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" look="primary" needs="admin" busy={create.isPending}>
        Create key
      </Button>
    </>
  );
  return (
    <Dialog open title="Create an API key" onClose={onClose} actions={actions} onSubmit={submit}>
      <TextField
        label="Name"
        hint="Who or what uses it: activities show this name."
        value={name}
        onChange={setName}
        error={error?.issueAt("name")}
        autoFocus
      />
      <Select label="Role" value={role} options={roleOptions} onChange={setRole} error={error?.issueAt("roles")} />
      <ExpiryField value={expiry} onChange={setExpiry} error={error?.issueAt("expireAt")} />
      {error !== null && error.issues.length === 0 && <Note tone="bad">{error.message}</Note>}
    </Dialog>
  );
}

type CreatedProps = { readonly created: OperationResult<"createKey">; readonly onClose: () => void };

/** Only its own button closes it: a click beside it would lose the secret. */
function CreatedKeyDialog({ created: { key, keyId, keySecret }, onClose }: CreatedProps) {
  const organizationId = sessionStore.get().identity?.organization.id;
  const file = JSON.stringify({ baseUrl: location.origin, organizationId, keyId, keySecret }, null, 2);
  const actions = (
    <Button look="primary" onClick={onClose}>
      I have kept it
    </Button>
  );
  return (
    <Dialog open title={`Key ${key.name}`} actions={actions}>
      <Note tone="warn">
        Keep the secret now: it is not shown again. The file signs in here and on the command line.
      </Note>
      <TextField label="Key id" mono readOnly value={keyId} onChange={() => undefined} />
      <Secret label="Key secret" value={keySecret} fileName="millrace-credentials.json" fileText={file} />
    </Dialog>
  );
}
