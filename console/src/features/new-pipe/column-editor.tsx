import { Plus } from "lucide-react";
import { Button } from "../../parts/button.tsx";
import { inputClass, TextField } from "../../parts/field.tsx";
import type { Column, Form, TypedColumn } from "./form.ts";
import css from "./new-pipe.module.css";

type ColumnEditorProps = {
  readonly form: Form;
  readonly change: (next: Partial<Form>) => void;
  /** Why the sorting key was proposed. */
  readonly reason: string | undefined;
  /** The columns of a table that exists. */
  readonly existing: readonly TypedColumn[] | undefined;
};

const commonTypes = [
  ...["String", "LowCardinality(String)", "Int32", "Int64", "UInt64", "Float64", "Bool", "UUID", "Date", "DateTime"],
  ...["DateTime64(3)", "Decimal(18, 4)", "Array(String)", "Map(String, String)", "JSON", "Nullable(String)"],
];

/** Which field becomes which column, of which type. */
export function ColumnEditor({ form, change, reason, existing = [] }: ColumnEditorProps) {
  const { columns, sortingKey, isNewTable } = form;
  const set = (index: number, next: Partial<Column>) =>
    change({ columns: columns.map((column, at) => (at === index ? { ...column, ...next } : column)) });
  const add = () => change({ columns: [...columns, { field: "", name: "", type: "String" }] });
  return (
    <fieldset className={css.choices}>
      <legend>Columns</legend>
      <datalist id="column-types">
        {commonTypes.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      <datalist id="column-names">
        {existing.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div className="group">
        <div className={css.columnRow} aria-hidden="true">
          <span />
          <span className="muted">Field of the source</span>
          <span className="muted">Column</span>
          {isNewTable && <span className="muted">Type</span>}
        </div>
        {columns.map((column, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place; its names are edited here
          <ColumnRow key={index} at={index} column={column} hasType={isNewTable} set={(next) => set(index, next)} />
        ))}
      </div>
      <div>
        <Button small icon={Plus} onClick={add}>
          Add column
        </Button>
      </div>
      {isNewTable && (
        <TextField
          label="Sorting key"
          hint={reason ?? "Columns that queries filter by, separated by commas"}
          value={sortingKey.join(", ")}
          onChange={(text) => change({ sortingKey: namesOf(text) })}
        />
      )}
    </fieldset>
  );
}

/** Spaces around commas do not count, so that the input can be typed in. */
function namesOf(text: string): string[] {
  return text.split(",").map((name) => name.trimStart());
}

const lists = { field: undefined, name: "column-names", type: "column-types" } as const;

type ColumnRowProps = {
  readonly at: number;
  readonly column: Column;
  readonly hasType: boolean;
  readonly set: (next: Partial<Column>) => void;
};

function ColumnRow({ at, column: { field, name, type, skip = false }, hasType, set }: ColumnRowProps) {
  const input = (label: string, value: string, key: "field" | "name" | "type") => (
    <input
      className={inputClass}
      aria-label={`${label} of ${name || field || `column ${at + 1}`}`}
      placeholder={label}
      spellCheck={false}
      disabled={skip}
      list={lists[key]}
      value={value}
      onChange={(event) => set({ [key]: event.target.value })}
    />
  );
  return (
    <div className={css.columnRow}>
      <label className={css.keep}>
        <input
          type="checkbox"
          aria-label={`Load ${field || `column ${at + 1}`}`}
          checked={!skip}
          onChange={(event) => set({ skip: !event.target.checked })}
        />
      </label>
      {input("Field", field, "field")}
      {input("Column", name, "name")}
      {hasType && input("Type", type, "type")}
    </div>
  );
}
