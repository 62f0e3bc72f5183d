import { Download } from "lucide-react";
import { useState } from "react";
import type { EngineWords } from "../../editor/words.ts";
import type { Statement } from "../../grid/query-run.ts";
import { bytesText } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { Menu, MenuItem, MenuNote } from "../../parts/menu.tsx";
import { toast, toastError } from "../../parts/toast.tsx";

type ExportMenuProps = {
  /** The statement whose result is exported. */
  readonly statement: Statement;
  readonly words: EngineWords;
};

/** File endings of the formats that are offered first. */
const common: readonly (readonly [format: string, ending: string])[] = [
  ["CSVWithNames", "csv"],
  ["TSVWithNames", "tsv"],
  ["JSONEachRow", "ndjson"],
  ["JSON", "json"],
  ["Parquet", "parquet"],
  ["Arrow", "arrow"],
  ["Markdown", "md"],
  ["SQLInsert", "sql"],
  ["Native", "native"],
];

/** Runs the statement again and streams its whole result into a file. */
export function ExportMenu({ statement, words }: ExportMenuProps) {
  const [busy, setBusy] = useState(false);
  const others = words.formats.filter(({ name, output }) => output && !common.some(([format]) => format === name));
  const save = async (format: string, ending: string) => {
    setBusy(true);
    try {
      const { download } = await import("./download.ts");
      const bytes = await download(statement, format, `result.${ending}`);
      if (bytes !== undefined) toast(`${bytesText(bytes)} are saved as ${format}.`);
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const button = (
    <Button small icon={Download} busy={busy}>
      Export
    </Button>
  );
  if (busy) return button;
  return (
    <Menu trigger={button}>
      <MenuNote>Runs again, all rows</MenuNote>
      {common.map(([format, ending]) => (
        <MenuItem key={format} onSelect={() => void save(format, ending)}>
          {format}
        </MenuItem>
      ))}
      {others.length > 0 && <MenuNote>All formats of the engine</MenuNote>}
      {others.map(({ name }) => (
        <MenuItem key={name} onSelect={() => void save(name, "txt")}>
          {name}
        </MenuItem>
      ))}
    </Menu>
  );
}
