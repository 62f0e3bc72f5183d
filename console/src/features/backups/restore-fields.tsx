import { counted } from "../../lib/format.ts";
import { fieldsOf, TextField } from "../../parts/field.tsx";
import { Select } from "../../parts/select.tsx";
import type { Service } from "./backup.ts";
import css from "./backups.module.css";
import {
  type Contents,
  databasesOf,
  type PipesChoice,
  type RestoreForm,
  type RestoreSearch,
  type Scope,
} from "./restore-form.ts";

type FieldsProps = {
  readonly form: RestoreForm;
  readonly contents: Contents;
  readonly services: readonly Service[];
  readonly onChange: (next: RestoreSearch) => void;
};

const scopes: readonly { readonly value: Scope; readonly label: string; readonly hint: string }[] = [
  { value: "service", label: "Everything", hint: "into a new service, with its pipes" },
  { value: "database", label: "One database", hint: "under another name, into a service that exists" },
  { value: "table", label: "One table", hint: "under another name, into a service that exists" },
];

const pipeOptions: readonly { readonly value: PipesChoice; readonly label: string }[] = [
  { value: "stopped", label: "Create them stopped" },
  { value: "running", label: "Create and start them" },
  { value: "none", label: "Leave them out" },
];

export function RestoreFields(props: FieldsProps) {
  const { form, onChange } = props;
  /** Names that follow from the scope are proposed again. */
  const choose = (scope: Scope) => onChange({ scope, targetDatabase: undefined, targetTable: undefined });
  return (
    <>
      <fieldset className={css.choices}>
        <legend>Scope</legend>
        {scopes.map(({ value, label, hint }) => (
          <label key={value} className={css.choice}>
            <input type="radio" name="scope" checked={form.scope === value} onChange={() => choose(value)} />
            <span>{label}</span>
            <span>{hint}</span>
          </label>
        ))}
      </fieldset>
      {form.scope === "service" ? <NewServiceFields form={form} onChange={onChange} /> : <PartFields {...props} />}
    </>
  );
}

function NewServiceFields(props: Pick<FieldsProps, "form" | "onChange">) {
  const field = fieldsOf(props);
  return (
    <>
      <TextField label="Name of the new service" {...field("name")} />
      <Select
        label="Pipes of the backup"
        hint="A running copy reads the same source as the original."
        {...field("pipes")}
        options={pipeOptions}
      />
    </>
  );
}

function PartFields({ form, contents, services, onChange }: FieldsProps) {
  const field = fieldsOf({ form, onChange });
  const isTable = form.scope === "table";
  const tables = contents.filter(({ database }) => database === form.database);
  const reset = { targetDatabase: undefined, targetTable: undefined };
  return (
    <>
      <div className="cells pair">
        <Select
          label="Database in the backup"
          value={form.database}
          options={databasesOf(contents)}
          onChange={(database) => onChange({ database, table: undefined, ...reset })}
        />
        {isTable && (
          <Select
            label="Table in the backup"
            value={form.table}
            options={tables.map(({ table, rows }) => ({
              value: table,
              label: rows === null ? table : `${table} (${counted(rows, "row")})`,
            }))}
            onChange={(table) => onChange({ table, ...reset })}
          />
        )}
      </div>
      <Select
        label="Into the service"
        {...field("target")}
        options={services.map(({ id, name, state }) => ({ value: id, label: `${name} (${state})` }))}
      />
      <div className="cells pair">
        <TextField
          mono
          label={isTable ? "Into the database" : "As the database"}
          hint={isTable ? "Created if it does not exist." : "Must not exist yet."}
          {...field("targetDatabase")}
        />
        {isTable && <TextField mono label="As the table" hint="Must not exist yet." {...field("targetTable")} />}
      </div>
    </>
  );
}
