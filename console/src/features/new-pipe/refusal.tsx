import type { ApiError } from "../../api/error.ts";
import { Note } from "../../parts/note.tsx";
import { connectionFields, dataFields } from "./fields.ts";
import type { Form } from "./form.ts";

type RefusalProps = {
  readonly error: ApiError;
  readonly form: Form;
  /** The inputs of the source are beside it, with what is wrong at each. */
  readonly isAtInputs?: boolean;
};

/** What the server has against it, once: at its input, or here in the words of the wizard. */
export function Refusal({ error, form, isAtInputs = false }: RefusalProps) {
  const { kind = "objectStorage" } = form;
  const labels = new Map(
    [...connectionFields[kind], ...dataFields[kind]].map(({ path, label }) => [`source.${kind}.${path}`, label]),
  );
  const rest = error.issues.filter(({ path }) => !(isAtInputs && labels.has(path)));
  if (error.issues.length > 0 && rest.length === 0) return null;
  const isSaid = rest.length === 1 && error.message.includes(rest[0]?.message ?? "");
  return (
    <Note tone="bad">
      {rest.length === 0 || isSaid ? withoutPath(error.message) : "This is refused:"}
      {rest.length > 0 && !isSaid && (
        <ul>
          {rest.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              {labels.get(path) ?? path.split(".").at(-1)}: {message}
            </li>
          ))}
        </ul>
      )}
    </Note>
  );
}

/** Not more of an answer in a foreign format than tells what it is. */
function withoutPath(message: string): string {
  const cut = /[\u0000-\u0008\u000e-\u001f\ufffd]/.exec(message)?.index;
  return (cut === undefined ? message : `${message.slice(0, cut)}… (binary)`).replace(/^source\.\w+\.[\w.]+:? /, "");
}
