import { Copy } from "lucide-react";
import { counted, countText } from "../lib/format.ts";
import type { GridColumn, GridRow } from "../lib/values.ts";
import { Button } from "../parts/button.tsx";
import { copyText as copyToClipboard } from "../parts/copy-button.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { SearchInput } from "../parts/search-input.tsx";
import { toast } from "../parts/toast.tsx";
import { type CopyFormat, copyFormats, copyText } from "./copy.ts";
import css from "./grid.module.css";

type GridToolsProps = {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly shown: number;
  readonly total: number;
  readonly columns: readonly GridColumn[];
  readonly rowsToCopy: () => readonly GridRow[];
};

/** The filter of a grid, and its rows for the clipboard. */
export function GridTools({ text, onText, shown, total, columns, rowsToCopy }: GridToolsProps) {
  const copy = async (format: CopyFormat) => {
    const rows = rowsToCopy();
    const isDone = await copyToClipboard(copyText(format, columns, rows));
    if (isDone) toast(`Copied ${counted(rows.length, "row")} as ${format}.`);
    else toast("The browser refuses to copy.", "warn");
  };
  return (
    <div className={css.tools}>
      <SearchInput label="Filter in result" value={text} onChange={onText} />
      <span className={css.count} role="status">
        {shown === total ? counted(total, "row") : `${countText(shown)} of ${counted(total, "row")}`}
      </span>
      <span className={css.gap} />
      <Menu
        trigger={
          <Button small icon={Copy}>
            Copy rows
          </Button>
        }
      >
        {copyFormats.map((format) => (
          <MenuItem key={format} onSelect={() => void copy(format)}>
            As {format}
          </MenuItem>
        ))}
      </Menu>
    </div>
  );
}
