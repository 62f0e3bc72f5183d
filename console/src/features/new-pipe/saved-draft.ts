/** Keeps the form at the server as a draft of this key, so that a reload or another browser goes on with it. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { call } from "../../api/client.ts";
import { type ApiError, asApiError } from "../../api/error.ts";
import { useOperation } from "../../api/queries.ts";
import { isSecret } from "./fields.ts";
import { type Form, withoutSecrets } from "./form.ts";

const pauseMs = 1_000;

/** A form without its secrets, and which it had. */
export type KeptForm = Form & { readonly secrets?: readonly string[] };

type StoredDraft = {
  readonly isReady: boolean;
  readonly error: ApiError | null;
  readonly form: KeptForm | undefined;
};

/** The draft with which the page was opened. `isReady` is false until it is read. */
export function useStoredDraft(): StoredDraft {
  const search = useSearch({ from: "/new-pipe" });
  // The first save puts a draft into the address, which the page has already.
  const [draft] = useState(search.draft);
  const stored = useOperation(
    "getSavedObject",
    { params: { savedObjectId: draft ?? "" } },
    { enabled: draft !== undefined, pace: "never" },
  );
  const isReady = draft === undefined || stored.data !== undefined || stored.error !== null;
  return { isReady, error: stored.error, form: stored.data?.content as KeptForm | undefined };
}

type Known = {
  id: string | undefined;
  version: number | undefined;
  /** The last save. */
  saving: Promise<unknown>;
  isForgotten: boolean;
};

/**
 * Saves the form a second after its last change. A draft that cannot be saved costs nothing but the reload. After
 * `forget` there is no draft, and none is saved.
 */
export function useSaving(form: Form, isEnabled: boolean): { readonly forget: () => Promise<void> } {
  const { draft } = useSearch({ from: "/new-pipe" });
  const navigate = useNavigate({ from: "/new-pipe" });
  const known = useRef<Known>({ id: draft, version: undefined, saving: Promise.resolve(), isForgotten: false });
  const typed = Object.entries(form.values).flatMap(([path, value]) => (isSecret(path) && value !== "" ? path : []));
  const secrets = [...new Set([...((form as KeptForm).secrets ?? []), ...typed])];
  const text = JSON.stringify({ ...withoutSecrets(form), secrets } satisfies KeptForm);
  useEffect(() => {
    if (!isEnabled || form.kind === undefined) return;
    const timer = setTimeout(() => {
      if (known.current.isForgotten) return;
      known.current.saving = save(known.current, text).then((id) => {
        if (id === undefined || known.current.isForgotten) return;
        void navigate({ search: (before) => ({ ...before, draft: id }), replace: true });
      });
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [text, isEnabled, form.kind, navigate]);
  return {
    forget: async () => {
      known.current.isForgotten = true;
      await known.current.saving;
      const savedObjectId = known.current.id;
      if (savedObjectId !== undefined) await call("deleteSavedObject", { params: { savedObjectId } }).catch(() => {});
    },
  };
}

/** The id of a draft that did not exist before. */
async function save(known: Known, text: string) {
  const content = JSON.parse(text) as Form;
  // The name tells it from the drafts of statements.
  const name = `New pipe from ${content.label}`;
  try {
    if (known.id === undefined) {
      const made = await call("createSavedObject", { body: { kind: "draft", name, content } as never });
      Object.assign(known, { id: made.id, version: made.version });
      return made.id;
    }
    const params = { savedObjectId: known.id };
    const version = known.version ?? (await call("getSavedObject", { params })).version;
    known.version = (await call("updateSavedObject", { params, body: { version, name, content } as never })).version;
  } catch (error) {
    known.version = undefined;
    // Deleted elsewhere: the next change begins another one.
    if (asApiError(error).status === 404) known.id = undefined;
  }
  return undefined;
}
