import { Count, Duration } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./pipes.module.css";
import type { PipeDetails } from "./use-pipe.ts";

type PipeTable = NonNullable<PipeDetails["tables"]>[number];

const columns: readonly Column<PipeTable>[] = [
  { key: "source", header: "Source table", cell: ({ sourceTable }) => <code>{sourceTable}</code> },
  { key: "target", header: "Target table", wide: true, cell: ({ targetTable }) => <code>{targetTable}</code> },
  {
    key: "state",
    header: "State",
    cell: ({ state, reason }) => (
      <div className={css.name}>
        <span>
          <StateBadge state={state} />
        </span>
        {reason !== undefined && <span className={css.detail}>{reason}</span>}
      </div>
    ),
  },
  { key: "lag", header: "Lag", align: "end", cell: ({ lagSeconds }) => <Duration value={lagSeconds} /> },
  { key: "rows", header: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
];

/** Each table of a database with its own state. */
export function PipeTables({ tables }: { readonly tables: readonly PipeTable[] }) {
  return (
    <Panel title="Tables" flush>
      <Table label="Tables of the pipe" columns={columns} rows={tables} rowKey={({ targetTable }) => targetTable} />
    </Panel>
  );
}
