import { ChevronRight, CornerDownLeft, FileText, Table2, TextSearch } from "lucide-react";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { tableName } from "../../editor/words.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { IconButton } from "../../parts/button.tsx";
import { late } from "../../parts/late.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import css from "./sql.module.css";

const TableDialog = late(async () => (await import("./table-dialog.tsx")).TableDialog);

type Tables = OperationResult<"listTables">;
type Table = Tables["tables"][number];

type SchemaTreeProps = {
  readonly serviceId: string;
  readonly tables: Tables;
  /** Puts a name at the cursor of the editor. */
  readonly onInsert: (text: string) => void;
  /** Opens a statement that shows rows of the table. */
  readonly onPreview: (table: Table) => void;
};

/** Databases, tables and columns. A click opens, a double click inserts the name. Reading them wakes nothing. */
export function SchemaTree({ serviceId, tables, onInsert, onPreview }: SchemaTreeProps) {
  const [text, setText] = useState("");
  const [defined, setShown] = useState<Table>();
  const wanted = text.trim().toLowerCase();
  const shown = tables.tables.filter((table) => matches(table, wanted));
  return (
    <div className={`group ${css.tree}`}>
      <SearchInput label="Find tables and columns" placeholder="Find" value={text} onChange={setText} />
      {tables.databases.map(({ name }) => (
        <section key={name} aria-label={`Database ${name}`}>
          <h2 className={`muted ${css.database}`}>{name}</h2>
          <ul>
            {shown
              .filter(({ database }) => database === name)
              .map((table) => (
                <TableNode key={table.name} {...{ table, wanted, onInsert, onPreview }} onShow={setShown} />
              ))}
          </ul>
        </section>
      ))}
      {shown.length === 0 && <p className="muted">{wanted === "" ? "No tables yet." : "Nothing matches."}</p>}
      {defined !== undefined && (
        <TableDialog serviceId={serviceId} table={defined} onClose={() => setShown(undefined)} />
      )}
      {tables.truncated && <p className="muted">There are more tables than are listed.</p>}
      <p className="muted">
        {tables.asOf === undefined
          ? "Nothing is known yet."
          : tables.live
            ? "Read from the running engine, "
            : "Kept from when the service ran, "}
        {tables.asOf !== undefined && <RelativeTime at={tables.asOf} />}
      </p>
    </div>
  );
}

function matches({ name, columns = [] }: Table, wanted: string): boolean {
  return (
    wanted === "" ||
    name.toLowerCase().includes(wanted) ||
    columns.some((column) => column.name.toLowerCase().includes(wanted))
  );
}

type NodeProps = Pick<SchemaTreeProps, "onInsert" | "onPreview"> & {
  readonly table: Table;
  readonly wanted: string;
  readonly onShow: (table: Table) => void;
};

function TableNode({ table, wanted, onInsert, onPreview, onShow }: NodeProps) {
  const [isOpen, setOpen] = useState(false);
  const { name, engine, rows, bytes, columns = [] } = table;
  const byColumn = wanted !== "" && !name.toLowerCase().includes(wanted);
  const open = isOpen || byColumn;
  return (
    <li>
      <div className={css.node}>
        <button
          type="button"
          className={`plain ${css.nodeName}`}
          aria-expanded={open}
          title={`${name}, ${engine}`}
          onClick={() => setOpen(!isOpen)}
          onDoubleClick={() => onInsert(tableName(table))}
        >
          <ChevronRight size={14} aria-hidden className={css.chevron} />
          <Table2 size={14} aria-hidden />
          <span className="cut">{name}</span>
        </button>
        <span className={`muted ${css.nodeSize}`}>
          <Count value={rows} none="" />
        </span>
        <span className={css.nodeActions}>
          <IconButton small label={`Rows of ${name}`} icon={TextSearch} onClick={() => onPreview(table)} />
          <IconButton small label={`Insert ${name}`} icon={CornerDownLeft} onClick={() => onInsert(tableName(table))} />
          <IconButton small label={`Definition of ${name}`} icon={FileText} onClick={() => onShow(table)} />
        </span>
      </div>
      {open && (
        <ul className={css.columns}>
          <li className="muted">
            {engine} · <Count value={rows} none="unknown" /> rows · <Bytes value={bytes} />
          </li>
          {columns
            .filter((column) => !byColumn || column.name.toLowerCase().includes(wanted))
            .map((column) => (
              <li key={column.name}>
                <button
                  type="button"
                  className={`plain ${css.column}`}
                  title={`${column.name} ${column.type}`}
                  onClick={() => onInsert(quotedName(column.name))}
                  aria-label={`Insert ${column.name}, ${column.type}`}
                >
                  <span className="cut">{column.name}</span>
                  <span className={`cut ${css.columnType}`}>{column.type}</span>
                </button>
              </li>
            ))}
        </ul>
      )}
    </li>
  );
}
