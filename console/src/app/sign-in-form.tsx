import { type FormEvent, useState } from "react";
import { asApiError } from "../api/error.ts";
import { signIn } from "../api/session.ts";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/field.tsx";
import { Note } from "../parts/note.tsx";
import css from "./sign-in.module.css";

/** Key id and secret; a pair or the content of the credentials file fills both. */
export function SignInForm() {
  const [keyId, setKeyId] = useState("");
  const [keySecret, setKeySecret] = useState("");
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const changeId = (text: string) => {
    // A pair that is typed is not whole before it is sent.
    const found = text.length > keyId.length + 1 ? credentialsIn(text) : undefined;
    setKeyId(found?.keyId ?? text);
    if (found !== undefined) setKeySecret(found.keySecret);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    const key = (keySecret === "" ? credentialsIn(keyId) : undefined) ?? { keyId, keySecret };
    if (key.keyId.trim() === "" || key.keySecret === "") return setError("Enter the key id and its secret.");
    setBusy(true);
    setError(undefined);
    signIn({ keyId: key.keyId.trim(), keySecret: key.keySecret.trim() })
      .catch((reason) => setError(sentenceFor(reason)))
      .finally(() => setBusy(false));
  };
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      {error !== undefined && <Note tone="bad">{error}</Note>}
      <TextField
        label="Key id"
        hint="Or id:secret, or the content of credentials.json."
        name="username"
        autoComplete="username"
        mono
        value={keyId}
        onChange={changeId}
        autoFocus
      />
      <TextField
        label="Key secret"
        type="password"
        name="password"
        autoComplete="current-password"
        mono
        value={keySecret}
        onChange={setKeySecret}
      />
      <Button type="submit" look="primary" busy={busy}>
        Sign in
      </Button>
    </form>
  );
}

function sentenceFor(reason: unknown): string {
  const error = asApiError(reason);
  if (error.status === 401) return "There is no enabled key with this id and secret.";
  if (error.status === 429) return `Too many attempts. Try again in ${error.retryAfterSeconds ?? 60} s.`;
  return error.message;
}

type Credentials = { readonly keyId: string; readonly keySecret: string };

/** The key in pasted text: `id:secret`, or JSON with `keyId` and `keySecret`. */
function credentialsIn(text: string): Credentials | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) return ofJson(trimmed);
  const pair = /^([\w-]+):(\S+)$/.exec(trimmed);
  return pair === null ? undefined : { keyId: pair[1] as string, keySecret: pair[2] as string };
}

function ofJson(text: string): Credentials | undefined {
  try {
    const { keyId, keySecret } = JSON.parse(text) as Partial<Record<keyof Credentials, unknown>>;
    return typeof keyId === "string" && typeof keySecret === "string" ? { keyId, keySecret } : undefined;
  } catch {
    return undefined;
  }
}
