import type { ApiError } from "../../api/error.ts";
import { inLabels, labelAt } from "../../lib/source-words.ts";
import { Note } from "../../parts/note.tsx";
import { SourceInput } from "../../parts/source-input.tsx";
import { inputsOf, type Step } from "./fields.ts";
import type { Form } from "./form.ts";

type SourceInputsProps = {
  readonly step: Step;
  readonly form: Form;
  readonly change: (next: Partial<Form>) => void;
  readonly error: ApiError | undefined;
};

/** Inputs of a source, with the server's message beside the one that it is about. */
export function SourceInputs({ step, form, change, error }: SourceInputsProps) {
  const { values, kind } = form;
  return (
    <div className="cells pair">
      {inputsOf(kind, values, step).map((field) => (
        <SourceInput
          key={field.path}
          field={field}
          value={values[field.path] ?? ""}
          error={error?.issueAt(`source.${kind}.${field.path}`)}
          onChange={(text) => change({ values: { ...values, [field.path]: text } })}
        />
      ))}
    </div>
  );
}

type RefusalProps = {
  readonly error: ApiError;
  readonly form: Form;
  /** The inputs of this step are beside it, with what is wrong at each. */
  readonly step?: Step;
};

/** What the server has against it, once: at its input, or here with the label of the input that it is about. */
export function Refusal({ error, form: { kind, values }, step }: RefusalProps) {
  const inputs = step === undefined ? [] : inputsOf(kind, values, step).map(({ path }) => `source.${kind}.${path}`);
  const isAtInput = (path: string) => inputs.some((input) => path === input || path.startsWith(`${input}.`));
  const rest = error.issues.filter(({ path }) => !isAtInput(path));
  if (error.issues.length > 0 && rest.length === 0) return null;
  const lines = rest.map(({ path, message }) => (path === "" ? message : `${labelAt(path)}: ${message}`));
  return (
    <Note tone="bad">
      {lines.length > 1 ? "This is refused:" : readable(lines[0] ?? inLabels(error.message))}
      {lines.length > 1 && (
        <ul>
          {lines.map((line) => (
            <li key={line}>{readable(line)}</li>
          ))}
        </ul>
      )}
    </Note>
  );
}

/** Not more of an answer in a foreign format than tells what it is. */
function readable(message: string): string {
  const cut = /[\u0000-\u0008\u000e-\u001f\ufffd]/.exec(message)?.index;
  return cut === undefined ? message : `${message.slice(0, cut)}… (binary)`;
}
