import type { Parameter } from "../../editor/lexer.ts";
import { inputClass } from "../../parts/field.tsx";
import css from "./sql.module.css";

type ParameterBarProps = {
  readonly parameters: readonly Parameter[];
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (values: Readonly<Record<string, string>>) => void;
};

/** An input for each `{name:Type}` of the text. */
export function ParameterBar({ parameters, values, onChange }: ParameterBarProps) {
  if (parameters.length === 0) return null;
  return (
    <fieldset className={css.parameters}>
      <legend className="visually-hidden">Parameters</legend>
      {parameters.map(({ name, type }) => (
        <label key={name} className={css.parameter}>
          <span>{name}</span>
          <input
            className={inputClass}
            value={values[name] ?? ""}
            placeholder={type}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => onChange({ ...values, [name]: event.target.value })}
          />
        </label>
      ))}
    </fieldset>
  );
}
