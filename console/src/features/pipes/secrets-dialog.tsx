import { useState } from "react";
import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import { holds, memberAt, type SourceField } from "../../../../src/sources/contract/fields.ts";
import { asApiError } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextArea, TextField } from "../../parts/field.tsx";
import { toast } from "../../parts/toast.tsx";
import { pipeReads } from "./pipe-commands.ts";
import { kindOf, type PipeDetails } from "./use-pipe.ts";

/** The members of the login that the pipe has, or of the usual one of its kind, as far as they can be changed. */
function loginFields(pipe: PipeDetails): readonly SourceField[] {
  const kind = kindOf(pipe);
  const { logins, fields, mutable } = sourceDescriptions[kind];
  const own = logins.find(({ when }) => holds(when, (path) => memberAt(pipe.source[kind] ?? {}, path))) ?? logins[0];
  return (own?.members ?? []).flatMap((member) => {
    const field = fields.find(({ path }) => path === member);
    return field !== undefined && mutable.includes(member.split(".")[0] ?? "") ? [field] : [];
  });
}

/** Replaces what the pipe logs in with. What is there is never shown. */
export function SecretsDialog({ pipe, onClose }: { readonly pipe: PipeDetails; readonly onClose: () => void }) {
  const kind = kindOf(pipe);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const change = useChange("updatePipe", { changes: pipeReads });
  const fields = loginFields(pipe);
  const isEmpty = fields.some(({ path }) => (values[path] ?? "") === "");
  const save = () => {
    const members: Record<string, unknown> = {};
    for (const { path } of fields) {
      const [outer = "", inner] = path.split(".");
      members[outer] =
        inner === undefined ? values[path] : { ...(members[outer] as object | undefined), [inner]: values[path] };
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
  return (
    <FormDialog
      {...{ title: "Replace credentials", action: "Replace", busy: change.isPending, onClose, onSubmit: save }}
      needs="developer"
      refusal={isEmpty ? "Fill in every field." : undefined}
      failure={error?.message}
    >
      <p>The server tries them before it takes them.</p>
      {fields.map(({ path, label, input, isLong }) => {
        const shared = {
          label,
          value: values[path] ?? "",
          onChange: (text: string) => setValues({ ...values, [path]: text }),
          error: error?.issueAt(`source.${kind}.${path}`),
        };
        return input === "area" || isLong ? (
          <TextArea key={path} {...shared} mono />
        ) : (
          <TextField key={path} {...shared} type={input === "secret" ? "password" : "text"} />
        );
      })}
    </FormDialog>
  );
}
