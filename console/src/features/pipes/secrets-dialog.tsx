import { useState } from "react";
import { asApiError } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { toast } from "../../parts/toast.tsx";
import type { PipeKind } from "./list-search.ts";
import { pipeReads } from "./pipe-commands.ts";
import { kindOf, type PipeDetails } from "./use-pipe.ts";

/** Inputs of the usual credentials of a kind: path below the source's kind, and label. */
const inputs: Readonly<Record<PipeKind, readonly (readonly [path: string, label: string])[]>> = {
  messageBroker: [
    ["credentials.username", "User"],
    ["credentials.password", "Password"],
  ],
  objectStorage: [
    ["accessKey.accessKeyId", "Access key id"],
    ["accessKey.secretKey", "Secret key"],
  ],
  managedStream: [
    ["accessKey.accessKeyId", "Access key id"],
    ["accessKey.secretKey", "Secret key"],
  ],
  relationalDb: [
    ["credentials.username", "User"],
    ["credentials.password", "Password"],
  ],
};

/** Replaces what the pipe logs in with. What is there is never shown. */
export function SecretsDialog({ pipe, onClose }: { readonly pipe: PipeDetails; readonly onClose: () => void }) {
  const kind = kindOf(pipe);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const change = useChange("updatePipe", { changes: pipeReads });
  const isEmpty = inputs[kind].some(([path]) => (values[path] ?? "") === "");
  const save = () => {
    if (isEmpty) return;
    const members: Record<string, Record<string, string>> = {};
    for (const [path] of inputs[kind]) {
      const [outer = "", inner = ""] = path.split(".");
      members[outer] = { ...members[outer], [inner]: values[path] ?? "" };
    }
    const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
    change.mutateAsync({ params, body: { source: { [kind]: members } }, ifMatch: pipe.version } as never).then(
      () => {
        toast("The credentials are replaced.");
        onClose();
      },
      () => {},
    );
  };
  const error = change.error === null ? undefined : asApiError(change.error);
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button
        type="submit"
        look="primary"
        needs="developer"
        busy={change.isPending}
        refusal={isEmpty ? "Fill in every field." : undefined}
      >
        Replace
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title="Replace credentials" actions={actions} onSubmit={save}>
      <p>The server tries them before it takes them.</p>
      {inputs[kind].map(([path, label]) => (
        <TextField
          key={path}
          label={label}
          type={/password|secret/i.test(path) ? "password" : "text"}
          value={values[path] ?? ""}
          onChange={(text) => setValues({ ...values, [path]: text })}
          error={error?.issueAt(`source.${kind}.${path}`)}
        />
      ))}
      {error !== undefined && <Note tone="bad">{error.message}</Note>}
    </Dialog>
  );
}
