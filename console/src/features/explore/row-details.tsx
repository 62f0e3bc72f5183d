import { Minus, Plus } from "lucide-react";
import { cellText } from "../../lib/values.ts";
import { IconButton } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import css from "./explore.module.css";
import type { AddFilter } from "./field-sidebar.tsx";

type RowDetailsProps = {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly row: Readonly<Record<string, unknown>>;
  readonly onFilter: AddFilter;
};

const shownCharacters = 20_000;

/** All values of a row, with members of maps and objects on lines of their own. */
export function RowDetails({ columns, row, onFilter }: RowDetailsProps) {
  const lines = columns.flatMap(({ name }) => linesOf(name, row[name]));
  const isUtc = (field: string) =>
    columns.some(({ name, type }) => name === field && /DateTime/.test(type) && !type.includes("'"));
  return (
    <div className={css.details}>
      <dl>
        {lines.map(({ field, text }) => (
          <div key={field} className={css.detail}>
            <dt title={field}>{field}</dt>
            <dd>
              <span className={css.detailText}>
                {text.slice(0, shownCharacters)}
                {isUtc(field) && <span className="muted"> UTC</span>}
              </span>
              <span className={css.detailActions}>
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
      <CopyButton labelled text={JSON.stringify(row, undefined, 2)} label="Copy row as JSON" />
    </div>
  );
}

function linesOf(name: string, value: unknown): { field: string; text: string }[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return [{ field: name, text: cellText(value) }];
  const members = Object.entries(value);
  if (members.length === 0) return [];
  return members.map(([key, member]) => ({
    field: /^[\w.]+$/.test(key) ? `${name}.${key}` : `${name}['${key}']`,
    text: cellText(member),
  }));
}
