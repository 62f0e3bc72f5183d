/** Inputs with a label, a hint and the server's message about them. */
import { type ComponentProps, type ReactNode, useId } from "react";
import { classes } from "../lib/classes.ts";
import css from "./field.module.css";

export type FieldText = {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  /** What is wrong; for example `error?.issueAt("name")`. */
  readonly error?: string | undefined;
};

/** Attributes that connect an input with its label, hint and error. */
export type InputNames = {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
};

/** The frame of any input. */
export function Field({ label, hint, error, children }: FieldText & { children: (names: InputNames) => ReactNode }) {
  const id = useId();
  const described = [hint === undefined ? [] : `${id}-hint`, error === undefined ? [] : `${id}-error`].flat();
  return (
    <div className={css.field}>
      <label className={css.label} htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        "aria-describedby": described.join(" ") || undefined,
        "aria-invalid": error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <div className={css.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {error !== undefined && (
        <div className={css.error} id={`${id}-error`} role="alert">
          {error}
        </div>
      )}
    </div>
  );
}

type Own<T extends "input" | "textarea"> = Omit<ComponentProps<T>, "onChange" | "value"> &
  FieldText & { readonly value: string; readonly onChange: (value: string) => void; readonly mono?: boolean };

/** One line of text; `type` for passwords, numbers and times. */
export function TextField({ label, hint, error, onChange, mono, ...rest }: Own<"input">) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(names) => (
        <input
          type="text"
          autoComplete="off"
          spellCheck={false}
          {...rest}
          {...names}
          className={classes(css.input, mono && css.mono)}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** Several lines of text. */
export function TextArea({ label, hint, error, onChange, mono, ...rest }: Own<"textarea">) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(names) => (
        <textarea
          rows={4}
          spellCheck={false}
          {...rest}
          {...names}
          className={classes(css.input, mono && css.mono)}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

type CheckboxProps = FieldText & {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
};

export function Checkbox({ label, hint, error, checked, onChange, disabled }: CheckboxProps) {
  return (
    <label className={css.check}>
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>{label}</span>
      {hint !== undefined && <span className={css.hint}>{hint}</span>}
      {error !== undefined && <span className={css.error}>{error}</span>}
    </label>
  );
}

/** The look of an input, for inputs of other parts. */
export const inputClass = css.input;
