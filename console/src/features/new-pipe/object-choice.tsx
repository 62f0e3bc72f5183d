import { bytesText, countText } from "../../lib/format.ts";
import { Table } from "../../parts/table.tsx";
import type { ChoiceProps } from "./choice-props.ts";
import css from "./new-pipe.module.css";

type Entry = { readonly name: string; readonly detail: string; readonly isPrefix: boolean };

/** The folder of the URL, to look into and to check the pattern against. */
export function ObjectChoice({ listing, read }: ChoiceProps) {
  const prefixes = (listing.prefixes ?? []).map(({ prefix, objects, bytes, hasMore }) => ({
    name: prefix,
    detail:
      objects === undefined
        ? ""
        : `${hasMore ? "more than " : ""}${countText(objects)} objects, ${bytesText(bytes ?? 0)}`,
    isPrefix: true,
  }));
  const objects = (listing.objects ?? []).map(({ key, bytes }) => ({
    name: key,
    detail: bytesText(bytes),
    isPrefix: false,
  }));
  const entries: readonly Entry[] = [...prefixes, ...objects].slice(0, 50);
  if (entries.length === 0) {
    return <p className="muted">There are no objects here yet. A pipe that loads new ones waits for them.</p>;
  }
  return (
    <div className={css.frame}>
      <Table<Entry, string>
        label="Objects at the source"
        rows={entries}
        rowKey={({ name }) => name}
        columns={[
          { key: "name", header: "Object", cell: (entry) => <EntryName entry={entry} read={read} /> },
          { key: "size", header: "Size", align: "end", cell: ({ detail }) => detail },
        ]}
      />
    </div>
  );
}

function EntryName({ entry: { name, isPrefix }, read }: { entry: Entry; read: ChoiceProps["read"] }) {
  if (!isPrefix) return <code>{name}</code>;
  return (
    <button type="button" className={`plain ${css.link}`} onClick={() => void read(name)}>
      <code>{name}</code>
    </button>
  );
}
