import { useState } from "react";
import { bytesText, counted } from "../../lib/format.ts";
import { Checkbox, TextField } from "../../parts/field.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import type { ChoiceProps } from "./choice-props.ts";
import type { TableChoice } from "./form.ts";
import css from "./new-pipe.module.css";

type Listed = NonNullable<ChoiceProps["listing"]["tables"]>[number];

/** Tables of a database, each with the name that it gets here. */
export function TableChoices({ form, change, listing }: ChoiceProps) {
  const [part, setPart] = useState("");
  const all = listing.tables ?? [];
  const shown = all.filter(({ schema, name }) => `${schema}.${name}`.includes(part));
  const set = (tables: readonly TableChoice[]) => change({ tables });
  return (
    <fieldset className={css.choices}>
      <legend>Tables</legend>
      {all.length > 8 && <SearchInput label="Find by name" value={part} onChange={setPart} />}
      {all.length === 0 && <p className="muted">This user may see no table.</p>}
      <div className={css.list}>
        {shown.map((table) => (
          <OneTable key={`${table.schema}.${table.name}`} table={table} chosen={form.tables} set={set} />
        ))}
      </div>
    </fieldset>
  );
}

type OneTableProps = {
  readonly table: Listed;
  readonly chosen: readonly TableChoice[];
  readonly set: (tables: readonly TableChoice[]) => void;
};

function OneTable({
  table: { schema, name, estimatedRows, bytes, primaryKey, isReadable },
  chosen,
  set,
}: OneTableProps) {
  const isSame = (one: TableChoice) => one.schema === schema && one.table === name;
  const own = chosen.find(isSame);
  const others = chosen.filter((one) => !isSame(one));
  const facts = [
    estimatedRows === undefined ? [] : `about ${counted(estimatedRows, "row")}`,
    bytes === undefined ? [] : bytesText(bytes),
    primaryKey.length === 0 ? "no primary key" : `key ${primaryKey.join(", ")}`,
    isReadable ? [] : "this user may not read it",
  ].flat();
  return (
    <div className={css.tableChoice}>
      <Checkbox
        label={`${schema}.${name}`}
        hint={facts.join(" · ")}
        value={own !== undefined}
        disabled={!isReadable}
        onChange={(isChosen) => set(isChosen ? [...others, { schema, table: name, target: name }] : others)}
      />
      {own !== undefined && (
        <TextField
          label="Name here"
          value={own.target}
          onChange={(target) => set(chosen.map((one) => (isSame(one) ? { ...one, target } : one)))}
        />
      )}
    </div>
  );
}
