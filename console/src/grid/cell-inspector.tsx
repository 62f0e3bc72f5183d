import { bytesText } from "../lib/format.ts";
import { Button } from "../parts/button.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Note } from "../parts/note.tsx";
import { cellText, type GridColumn } from "./values.ts";

type CellInspectorProps = {
  readonly column: GridColumn;
  /** Counted from 1, in the order of the result. */
  readonly row: number;
  readonly value: unknown;
  readonly onClose: () => void;
};

const shownCharacters = 100_000;

/** The whole value of a cell; JSON with indentation. */
export function CellInspector({ column, row, value, onClose }: CellInspectorProps) {
  const whole = cellText(value);
  const text = indented(value, whole);
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`${column.name}, row ${row}`}
      actions={
        <>
          <CopyButton labelled look="secondary" small={false} text={whole} label="Copy value" />
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <p>
        <code>{column.type}</code> · {bytesText(new Blob([whole]).size)}
      </p>
      {text.length > shownCharacters && <Note>These are the first 100,000 characters. Copy the value to get all.</Note>}
      <CodeBlock wrap label={`value of ${column.name}`} text={text.slice(0, shownCharacters)} />
    </Dialog>
  );
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
