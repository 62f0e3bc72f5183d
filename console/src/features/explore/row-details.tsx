import { ChevronDown, ChevronUp, Columns3, Minus, Plus, X } from "lucide-react";
import { IconButton } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import css from "./explore.module.css";
import type { AddFilter } from "./field-sidebar.tsx";
import { type Column, fieldsOfRow, type Row } from "./row.ts";

type RowDetailsProps = {
  readonly types: readonly Column[];
  readonly all: readonly Row[];
  /** The place of the row among all; -1 when it is gone. */
  readonly at: number;
  readonly row: Row;
  readonly onRow: (row: Row | undefined) => void;
  readonly onFilter: AddFilter;
  /** Fields that the list shows. */
  readonly columns: readonly string[];
  readonly onColumns: (columns: readonly string[]) => void;
};

const shownCharacters = 20_000;

/** All values of a row beside the list, which filters and columns can be made of. */
export function RowDetails({ types, all, at, row, onRow, onFilter, columns, onColumns }: RowDetailsProps) {
  const toggle = (field: string) =>
    onColumns(columns.includes(field) ? columns.filter((one) => one !== field) : [...columns, field]);
  const step = (label: string, icon: typeof X, to: number) => (
    <IconButton
      small
      label={label}
      icon={icon}
      refusal={at === -1 || all[to] === undefined ? "There is none." : undefined}
      onClick={() => onRow(all[to])}
    />
  );
  return (
    <aside className={css.details} aria-label="Row">
      <div className={`row ${css.detailsHead}`}>
        <h3>Row</h3>
        <CopyButton labelled text={JSON.stringify(row, undefined, 2)} label="Copy row as JSON" />
        <span className="grow" />
        {step("Newer row", ChevronUp, at - 1)}
        {step("Older row", ChevronDown, at + 1)}
        <IconButton small label="Close the row" icon={X} onClick={() => onRow(undefined)} />
      </div>
      <dl>
        {fieldsOfRow(types, row).map(({ field, text, shown }) => (
          <div key={field} className={css.detail}>
            <dt title={field}>{field}</dt>
            <dd>
              <span className={css.detailText} title={shown === text ? undefined : `${text} in the table`}>
                {shown.slice(0, shownCharacters)}
              </span>
              <span className={css.detailActions}>
                <IconButton
                  small
                  label={`Column ${field}`}
                  icon={Columns3}
                  aria-pressed={columns.includes(field)}
                  onClick={() => toggle(field)}
                />
                <IconButton
                  small
                  label={`Only this ${field}`}
                  icon={Plus}
                  onClick={() => onFilter(field, text, true)}
                />
                <IconButton
                  small
                  label={`Without this ${field}`}
                  icon={Minus}
                  onClick={() => onFilter(field, text, false)}
                />
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
