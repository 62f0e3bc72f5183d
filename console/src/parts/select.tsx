import { Field, type FieldText, inputClass } from "./field.tsx";

type Option<T extends string> = { readonly value: T; readonly label: string; readonly disabled?: boolean };

type SelectProps<T extends string> = FieldText & {
  readonly value: T;
  readonly options: readonly Option<T>[];
  readonly onChange: (value: T) => void;
};

/** One of few values: the browser's own list, which every keyboard and telephone knows. */
export function Select<T extends string>({ value, options, onChange, ...text }: SelectProps<T>) {
  return (
    <Field {...text}>
      {(names) => (
        <select {...names} className={inputClass} value={value} onChange={(event) => onChange(event.target.value as T)}>
          {options.map((option) => (
            <option key={option.value} value={option.value} disabled={option.disabled}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** The same without a visible label, for bars of filters. */
export function InlineSelect<T extends string>({
  label,
  value,
  options,
  onChange,
}: Omit<SelectProps<T>, "label" | "hint" | "error"> & { readonly label: string }) {
  return (
    <select
      aria-label={label}
      className={inputClass}
      style={{ width: "auto", maxWidth: "100%" }}
      value={value}
      onChange={(event) => onChange(event.target.value as T)}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value} disabled={option.disabled}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
