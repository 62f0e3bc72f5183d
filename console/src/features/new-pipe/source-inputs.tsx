import type { SourceField } from "../../../../src/sources/contract/fields.ts";
import type { ApiError } from "../../api/error.ts";
import { Checkbox, TextArea, TextField } from "../../parts/field.tsx";
import { Select } from "../../parts/select.tsx";
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

type SourceInputProps = {
  readonly field: SourceField;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (text: string) => void;
};

function SourceInput({ field, value, error, onChange }: SourceInputProps) {
  const { label, hint, input = "text", placeholder, options, required } = field;
  const shared = { label, hint, error };
  switch (input) {
    case "switch":
      return <Checkbox {...shared} value={value === "true"} onChange={(on) => onChange(on ? "true" : "")} />;
    case "choice":
      return <Select {...shared} value={value} options={options ?? []} onChange={onChange} />;
    case "area":
      return <TextArea {...shared} mono value={value} onChange={onChange} />;
    default:
      return (
        <TextField
          {...shared}
          type={input === "secret" ? "password" : "text"}
          autoComplete={input === "secret" ? "new-password" : "off"}
          inputMode={input === "number" ? "numeric" : undefined}
          aria-required={required}
          placeholder={placeholder}
          value={value}
          onChange={onChange}
        />
      );
  }
}
