import { useState } from "react";
import { placeless } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import { type Expiry, ExpiryField, expireAtOf } from "./expiry-field.tsx";

/** Creates an access token, and shows it once. */
export function NewTokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState<Expiry>({ choice: "90", date: "" });
  const create = useChange("createAccessToken", { changes: ["listAccessTokens"] });
  const { data, error } = create;
  if (data !== undefined) {
    return (
      <SecretDialog title={`Token ${data.token.name}`} what="token" onKept={onClose}>
        <Secret label="Access token" value={data.accessToken} fileName="millrace-token.txt" />
      </SecretDialog>
    );
  }
  const submit = () => create.mutate({ body: { name, expireAt: expireAtOf(expiry) ?? null } });
  const busy = create.isPending;
  const dialog = { title: "Create an access token", action: "Create token", busy, onClose, onSubmit: submit };
  return (
    <FormDialog {...dialog} needs="admin" failure={placeless(error)}>
      <TextField label="Name" value={name} onChange={setName} error={error?.issueAt("name")} autoFocus />
      <ExpiryField value={expiry} onChange={setExpiry} error={error?.issueAt("expireAt")} />
    </FormDialog>
  );
}
