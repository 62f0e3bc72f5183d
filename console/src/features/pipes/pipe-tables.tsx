import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Asking } from "../../parts/dialog.tsx";
import { Count, Duration } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { type Column, Table, useSorted } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import { pipeReads } from "./pipe-commands.ts";
import { type PipeDetails, usePipeParams } from "./use-pipe.ts";

type PipeTable = NonNullable<PipeDetails["tables"]>[number];

const columns: readonly Column<PipeTable>[] = [
  { key: "sourceTable", header: "Source table", sortable: true, cell: ({ sourceTable }) => <code>{sourceTable}</code> },
  { key: "targetTable", header: "Target table", sortable: true, cell: ({ targetTable }) => <code>{targetTable}</code> },
  { key: "state", header: "State", sortable: true, cell: (table) => <StateCell table={table} /> },
  { key: "lagSeconds", header: "Lag", align: "end", sortable: true, cell: (t) => <Duration value={t.lagSeconds} /> },
  { key: "rows", header: "Rows", align: "end", sortable: true, cell: ({ rows }) => <Count value={rows} /> },
  { key: "resync", header: "", align: "end", cell: (table) => <ResyncButton table={table} /> },
];

/** Why a table stopped, when, and what helps. */
function StateCell({ table: { state, reason, stoppedAt, remedy } }: { readonly table: PipeTable }) {
  return (
    <div className="stack">
      <span>
        <StateBadge state={state} /> {stoppedAt !== undefined && <RelativeTime at={stoppedAt} />}
      </span>
      {reason !== undefined && <span className="muted">{reason}</span>}
      {remedy !== undefined && <span className="muted">{remedy}</span>}
    </div>
  );
}

/** Copies one table again, while the others go on. */
function ResyncButton({ table: { sourceTable, targetTable } }: { readonly table: PipeTable }) {
  const params = usePipeParams();
  const change = useChange("updatePipeState", {
    changes: pipeReads,
    onDone: () => toast(`${targetTable} is copied again.`, "info"),
  });
  const resync = () => change.mutateAsync({ params, body: { command: "resync", tables: [sourceTable] } });
  return (
    <Asking
      button={
        <Button small look="quiet" needs="developer">
          Resync …
        </Button>
      }
      title={`Resync ${sourceTable}`}
      action="Resync"
      needs="developer"
      onConfirm={resync}
    >
      <p>The table is copied again while the others go on. Queries see the old rows until the copy is complete.</p>
    </Asking>
  );
}

/** Each table of a database with its own state. */
export function PipeTables({ tables }: { readonly tables: readonly PipeTable[] }) {
  const sorted = useSorted(tables, (table, key) => table[key as "rows"]);
  return (
    <Panel title="Tables" flush>
      <Table tall label="Tables of the pipe" columns={columns} {...sorted} rowKey={({ targetTable }) => targetTable} />
    </Panel>
  );
}
