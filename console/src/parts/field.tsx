/** Inputs with a label, a hint and the server's message about them. */
import { type ComponentProps, type ReactNode, useId } from "react";
import type { ApiError } from "../api/error.ts";
import { classes } from "../lib/classes.ts";
import css from "./field.module.css";

export type FieldText = {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  /** What is wrong; for example `error?.issueAt("name")`. */
  readonly error?: string | undefined;
};

/** What the fields of a form get: what is typed, its changes, and what the server has against it. */
export type FormProps<Form> = {
  readonly form: Form;
  readonly onChange: (next: Partial<NoInfer<Form>>) => void;
  readonly error?: ApiError | null | undefined;
};

/** The input of a member of the form, with the issue at its path in the request: the name of the member by default. */
export function fieldsOf<Form>({ form, onChange, error }: FormProps<Form>) {
  return <Member extends keyof Form & string>(member: Member, path: string = member) => ({
    value: form[member],
    error: error?.issueAt(path),
    onChange: (value: Form[Member]) => onChange({ [member]: value } as unknown as Partial<Form>),
  });
}

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
        <div className="muted" id={`${id}-hint`}>
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

type TextProps = Omit<ComponentProps<"input">, "onChange" | "value"> &
  FieldText & {
    readonly value: string;
    readonly onChange: (value: string) => void;
    readonly mono?: boolean;
    /** Several lines of text, this many at first. */
    readonly rows?: number;
  };

/** One line of text; `type` for passwords, numbers and times. */
export function TextField({ label, hint, error, onChange, mono, rows, ...rest }: TextProps) {
  // Attributes that both elements have.
  const Input = (rows === undefined ? "input" : "textarea") as "input";
  const own = rows === undefined ? { type: "text", autoComplete: "off" } : ({ rows } as object);
  return (
    <Field label={label} hint={hint} error={error}>
      {(names) => (
        <Input
          {...own}
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
export function TextArea(props: TextProps) {
  return <TextField rows={4} {...props} />;
}

type CheckboxProps = FieldText & {
  readonly value: boolean;
  readonly onChange: (value: boolean) => void;
  readonly disabled?: boolean;
};

export function Checkbox({ label, hint, error, value, onChange, disabled }: CheckboxProps) {
  return (
    <label className={css.check}>
      <input type="checkbox" checked={value} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
      {hint !== undefined && <span className="muted">{hint}</span>}
      {error !== undefined && <span className={css.error}>{error}</span>}
    </label>
  );
}

/** The look of an input, for inputs of other parts. */
export const inputClass = css.input;
