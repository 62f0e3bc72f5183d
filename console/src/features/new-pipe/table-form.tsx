import { type ReactNode, useId } from "react";
import { useOperation } from "../../api/queries.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Checkbox, fieldsOf, TextField } from "../../parts/field.tsx";
import { ColumnEditor } from "./column-editor.tsx";
import { type Form, fitted, type TypedColumn } from "./form.ts";
import { StepForm, type StepProps } from "./step-form.tsx";

type TableFormProps = StepProps & {
  /** Why the sorting key was proposed. */
  readonly reason?: string | undefined;
  readonly actions?: ReactNode;
  /** What is shown before the table. */
  readonly children: ReactNode;
};

/** The table, new or not, and its columns. The columns of one that exists keep their types. */
export function TableForm({ form, change, onNext, reason, actions, children }: TableFormProps) {
  const { tables, columns, problem } = useTables(form);
  const next = () => {
    if (columns !== undefined) change({ columns: fitted(form.columns, columns) });
    onNext();
  };
  const field = fieldsOf({ form, onChange: change });
  const names = useId();
  return (
    <StepForm refusal={problem ?? refusalOf(form, columns)} onNext={next} actions={actions}>
      {children}
      <div className="cells pair">
        <TextField label="Database" {...field("database")} />
        <TextField label="Table" aria-required list={names} {...field("table")} error={problem} />
        <datalist id={names}>
          {tables.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <Checkbox
          label="Create the table"
          hint="Otherwise it exists, and columns are found by their names"
          {...field("isNewTable")}
        />
      </div>
      <ColumnEditor form={form} change={change} reason={reason} existing={columns} />
      {form.isNewTable && <CodeBlock label="statement" text={createTableText(form)} />}
    </StepForm>
  );
}

/** What the service has: names of tables, the columns of the one that gets the rows, and what speaks against it. */
function useTables({ serviceId, database, table, isNewTable }: Form) {
  const query = { columns: "true" as const };
  const known = useOperation("listTables", { params: { serviceId }, query }, { pace: "slow", keep: true }).data;
  const tables = known?.tables.filter((one) => one.database === database) ?? [];
  const own = tables.find(({ name }) => name === table);
  const name = `${database}.${table}`;
  const problem = () => {
    // An empty one may become the pipe's.
    if (isNewTable && own?.rows)
      return `${name} exists. Leave out “Create the table” to load into it, or choose another name.`;
    const isMissing = !isNewTable && known?.live === true && table !== "" && own === undefined;
    return isMissing ? `${name} does not exist. Choose one that does, or create it.` : undefined;
  };
  return {
    tables: tables.map((one) => one.name),
    columns: isNewTable ? undefined : own?.columns,
    problem: problem(),
  };
}

function refusalOf({ table, columns }: Form, existing: readonly TypedColumn[] | undefined): string | undefined {
  if (table.trim() === "") return "Name the table.";
  const kept = columns.filter(({ skip }) => skip !== true);
  if (kept.length === 0) return "Keep at least one column.";
  const missing = kept.find((column) => existing?.every(({ name }) => name !== column.name));
  return missing && `The table has no column ${missing.name}: choose another one, or leave it out.`;
}

function createTableText({ database, table, columns, sortingKey }: Form): string {
  const kept = columns.filter(({ skip }) => skip !== true);
  const width = Math.max(0, ...kept.map(({ name }) => quotedName(name).length));
  const lines = kept.map(({ name, type }) => `    ${quotedName(name).padEnd(width)} ${type}`);
  const key = sortingKey.length === 0 ? "tuple()" : `(${sortingKey.map(quotedName).join(", ")})`;
  return `CREATE TABLE ${quotedName(database)}.${quotedName(table || "…")}\n(\n${lines.join(",\n")}\n)\nENGINE = MergeTree\nORDER BY ${key}`;
}
