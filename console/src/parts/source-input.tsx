import type { SourceField } from "../../../src/sources/contract/fields.ts";
import { Checkbox, TextArea, TextField } from "./field.tsx";
import { Select } from "./select.tsx";

type SourceInputProps = {
  readonly field: SourceField;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (text: string) => void;
};

/** The input of a member of a source, as its kind describes it. Switches are `true` or nothing. */
export function SourceInput({ field, value, error, onChange }: SourceInputProps) {
  const { label, hint, input = "text", placeholder, options, required } = field;
  const shared = { label, hint, error };
  switch (input) {
    case "switch":
      return <Checkbox {...shared} value={value === "true"} onChange={(on) => onChange(on ? "true" : "")} />;
    case "choice":
      return <Select {...shared} value={value} options={withPresent(options, value)} onChange={onChange} />;
    case "area":
    case "tables":
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

/** The API takes more than forms offer: what is there stays unless another value is chosen. */
function withPresent(options: SourceField["options"] = [], present: string) {
  if (options.some(({ value }) => value === present)) return options;
  return [{ value: present, label: present || "Default" }, ...options];
}
