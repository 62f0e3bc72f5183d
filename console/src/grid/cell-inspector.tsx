import { useState } from "react";
import { bytesText } from "../lib/format.ts";
import { cellText, type GridColumn, type GridRow } from "../lib/values.ts";
import { Button } from "../parts/button.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Note } from "../parts/note.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tabs } from "../parts/tabs.tsx";

type CellInspectorProps = {
  readonly columns: readonly GridColumn[];
  readonly at: number;
  /** Counted from 1, in the order of the result. */
  readonly number: number;
  readonly row: GridRow;
  /** Leads to the row before or after it; absent at the ends. */
  readonly onStep: Readonly<Record<"Previous row" | "Next row", (() => void) | undefined>>;
  readonly onClose: () => void;
};

/** Characters of a value among those of its row. */
const shownInRow = 1_000;

const shownCharacters = 100_000;

/** The whole value of a cell, and the values of its row below each other. */
export function CellInspector({ columns, at, number, row, onStep, onClose }: CellInspectorProps) {
  const [tab, setTab] = useState<"value" | "row">("value");
  const column = columns[at] as GridColumn;
  const whole = cellText(row[at]);
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={tab === "row" ? `Row ${number}` : `${column.name}, row ${number}`}
      actions={
        <>
          {Object.entries(onStep).map(([label, step]) => (
            <Button key={label} refusal={step === undefined ? "There is none." : undefined} onClick={() => step?.()}>
              {label}
            </Button>
          ))}
          <CopyButton labelled look="secondary" small={false} text={whole} label="Copy value" />
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <Tabs
        label="Shown"
        value={tab}
        onChange={setTab}
        tabs={[
          { value: "value", label: "Value", content: <Value column={column} value={row[at]} whole={whole} /> },
          { value: "row", label: "Whole row", content: <WholeRow columns={columns} row={row} /> },
        ]}
      />
    </Dialog>
  );
}

type ValueProps = { readonly column: GridColumn; readonly value: unknown; readonly whole: string };

/** JSON has indentation. */
function Value({ column, value, whole }: ValueProps) {
  const text = indented(value, whole);
  return (
    <div className="group">
      <p>
        <code>{column.type}</code> · {bytesText(new Blob([whole]).size)}
      </p>
      {text.length > shownCharacters && <Note>These are the first 100,000 characters. Copy the value to get all.</Note>}
      <CodeBlock wrap label={`value of ${column.name}`} text={text.slice(0, shownCharacters)} />
    </div>
  );
}

type Member = { readonly at: number; readonly name: string; readonly type: string; readonly text: string };

const memberColumns: readonly Column<Member>[] = [
  { header: "Column", cell: ({ name }) => name },
  { header: "Type", cell: ({ type }) => <span className="muted">{type}</span> },
  { header: "Value", cell: ({ text }) => <code className="pre">{text}</code> },
];

function WholeRow({ columns, row }: { readonly columns: readonly GridColumn[]; readonly row: GridRow }) {
  const members = columns.map(({ name, type }, at) => {
    const text = cellText(row[at]);
    return { at, name, type, text: text.length > shownInRow ? `${text.slice(0, shownInRow)}…` : text };
  });
  return <Table label="Whole row" columns={memberColumns} rows={members} rowKey={({ at }) => String(at)} />;
}

function indented(value: unknown, whole: string): string {
  if (typeof value === "object" && value !== null) return JSON.stringify(value, undefined, 2);
  if (!/^\s*[[{]/.test(whole) || whole.length > shownCharacters) return whole;
  try {
    // Numbers beyond 2^53 would lose digits: such a text is shown as it is.
    return /\d{16}/.test(whole) ? whole : JSON.stringify(JSON.parse(whole), undefined, 2);
  } catch {
    return whole;
  }
}
