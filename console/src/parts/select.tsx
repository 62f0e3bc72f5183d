import { Field, type FieldText, inputClass } from "./field.tsx";

type Option<T extends string> = { readonly value: T; readonly label: string; readonly disabled?: boolean };
/** Text alone is a value that is shown as it is. */
type Options<T extends string> = readonly (T | Option<T>)[];

type SelectProps<T extends string> = FieldText & {
  readonly value: T;
  readonly options: Options<T>;
  readonly onChange: (value: T) => void;
};

/** One of few values: the browser's own list, which every keyboard and telephone knows. */
export function Select<T extends string>({ value, options, onChange, ...text }: SelectProps<T>) {
  return (
    <Field {...text}>
      {(names) => (
        <select {...names} className={inputClass} value={value} onChange={(event) => onChange(event.target.value as T)}>
          {optionsOf(options, value)}
        </select>
      )}
    </Field>
  );
}

type InlineSelectProps<T extends string> = {
  readonly label: string;
  readonly value: T | undefined;
  readonly options: Options<T>;
  readonly onChange: (value: T) => void;
  /** The words of a first choice, the empty text: all that there are. */
  readonly all?: string;
};

/** The same without a visible label, for bars of filters. */
export function InlineSelect<T extends string>({ label, value, options, onChange, all }: InlineSelectProps<T>) {
  return (
    <select
      aria-label={label}
      className={inputClass}
      style={{ width: "auto", maxWidth: "100%" }}
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value as T)}
    >
      {all !== undefined && <option value="">{all}</option>}
      {optionsOf(options, value)}
    </select>
  );
}

/** With a value that none of them has, as that of something deleted: the browser would show the first one instead. */
function optionsOf<T extends string>(options: Options<T>, value: T | undefined) {
  const all = options.map((one): Option<T> => (typeof one === "string" ? { value: one, label: one } : one));
  const isOffered = !value || all.some((one) => one.value === value);
  return (isOffered ? all : [{ value, label: value }, ...all]).map(({ value, label, disabled }) => (
    <option key={value} value={value} disabled={disabled}>
      {label}
    </option>
  ));
}

/** Objects as options: by id, under their names. */
export function named(objects: readonly { readonly id: string; readonly name: string }[] = []) {
  return objects.map(({ id, name }) => ({ value: id, label: name }));
}
