import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { placeless } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import type { Role } from "../../api/role.ts";
import { sessionStore } from "../../api/session-state.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
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
  const submit = () => create.mutate({ body: { name, roles: [role], expireAt: expireAtOf(expiry) ?? null } });
  const busy = create.isPending;
  const dialog = { title: "Create an API key", action: "Create key", busy, onClose, onSubmit: submit };
  return (
    <FormDialog {...dialog} needs="admin" failure={placeless(error)}>
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
    </FormDialog>
  );
}

type CreatedProps = { readonly created: OperationResult<"createKey">; readonly onClose: () => void };

function CreatedKeyDialog({ created: { key, keyId, keySecret }, onClose }: CreatedProps) {
  const organizationId = sessionStore.get().identity?.organization.id;
  const file = JSON.stringify({ baseUrl: location.origin, organizationId, keyId, keySecret }, null, 2);
  return (
    <SecretDialog title={`Key ${key.name}`} what="secret" onKept={onClose}>
      <p>The file signs in here and on the command line.</p>
      <TextField label="Key id" mono readOnly value={keyId} onChange={() => undefined} />
      <Secret label="Key secret" value={keySecret} fileName="millrace-credentials.json" fileText={file} />
    </SecretDialog>
  );
}
