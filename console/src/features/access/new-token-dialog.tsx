import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Secret } from "../../parts/secret.tsx";
import { type Expiry, ExpiryField, expireAtOf } from "./expiry-field.tsx";

/** Creates an access token, and shows it once. */
export function NewTokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState<Expiry>({ choice: "90", date: "" });
  const create = useChange("createAccessToken", { changes: ["listAccessTokens"] });
  const { data, error } = create;
  if (data !== undefined) {
    const kept = (
      <Button look="primary" onClick={onClose}>
        I have kept it
      </Button>
    );
    return (
      <Dialog open title={`Token ${data.token.name}`} actions={kept}>
        <Note tone="warn">Keep the token now: it is not shown again.</Note>
        <Secret label="Access token" value={data.accessToken} fileName="millrace-token.txt" />
      </Dialog>
    );
  }
  const submit = () => {
    if (!create.isPending) create.mutate({ body: { name, expireAt: expireAtOf(expiry) ?? null } });
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" look="primary" needs="admin" busy={create.isPending}>
        Create token
      </Button>
    </>
  );
  return (
    <Dialog open title="Create an access token" onClose={onClose} actions={actions} onSubmit={submit}>
      <TextField label="Name" value={name} onChange={setName} error={error?.issueAt("name")} autoFocus />
      <ExpiryField value={expiry} onChange={setExpiry} error={error?.issueAt("expireAt")} />
      {error !== null && error.issues.length === 0 && <Note tone="bad">{error.message}</Note>}
    </Dialog>
  );
}
