import { useChange } from "../../api/queries.ts";
import { capitalized } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { Asking } from "../../parts/dialog.tsx";
import { Count, Duration } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { type Column, Table, useSorted } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import { pipeReads } from "./pipe-actions.tsx";
import { type PipeDetails, usePipeParams } from "./use-pipe.ts";

type PipeTable = NonNullable<PipeDetails["tables"]>[number];

const columns: readonly Column<PipeTable>[] = [
  { sort: "sourceTable", header: "Source table", cell: ({ sourceTable }) => <code>{sourceTable}</code> },
  { sort: "targetTable", header: "Target table", cell: ({ targetTable }) => <code>{targetTable}</code> },
  { sort: "state", header: "State", cell: (table) => <StateCell table={table} /> },
  { sort: "lagSeconds", header: "Behind", align: "end", cell: (t) => <Duration value={t.lagSeconds} /> },
  { sort: "rows", header: "Rows written", align: "end", cell: ({ rows }) => <Count value={rows} /> },
];

const resync: Column<PipeTable> = { header: "", align: "end", cell: (t) => <ResyncButton table={t} /> };

/** Changes since the worker started, which it reports by the names of the target tables. */
const changes = { insertedRows: "Inserted", updatedRows: "Updated", deletedRows: "Deleted" };

/** Why a table stopped, when, and what helps besides its button. */
function StateCell({ table: { state, reason, stoppedAt, remedy } }: { readonly table: PipeTable }) {
  return (
    <div className="stack" style={{ maxWidth: "56ch" }}>
      <span>
        {/* Nobody stops one table: it could not go on. */}
        <StateBadge state={state} as={state === "Stopped" ? "failed" : state} />{" "}
        {stoppedAt !== undefined && <RelativeTime at={stoppedAt} />}
      </span>
      {reason !== undefined && <span className="muted">{capitalized(reason)}.</span>}
      {remedy !== undefined && <span className="muted">{remedy}</span>}
    </div>
  );
}

/** Copies one table again, while the others go on. */
function ResyncButton({ table: { sourceTable, targetTable, state } }: { readonly table: PipeTable }) {
  const params = usePipeParams();
  const change = useChange("updatePipeState", {
    changes: pipeReads,
    onDone: () => toast(`${targetTable} is copied again.`, "info"),
  });
  const resync = () => change.mutateAsync({ params, body: { command: "resync", tables: [sourceTable] } });
  return (
    <Asking
      button={
        <Button small {...(state === "Stopped" ? {} : { look: "quiet" as const })} needs="developer">
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

type PipeTablesProps = { readonly tables: readonly PipeTable[]; readonly progress: PipeDetails["progress"] };

/** Each table of a database with its own state. */
export function PipeTables({ tables, progress }: PipeTablesProps) {
  const sorted = useSorted(tables, (table, key) => progress[`${key}:${table.targetTable}`] ?? table[key as "rows"]);
  const isChanging = Object.keys(progress).some((name) => name.startsWith("insertedRows:"));
  const changed = Object.entries(changes).map(([key, header]) => ({
    sort: key,
    header,
    align: "end" as const,
    cell: ({ targetTable }: PipeTable) => <Count value={progress[`${key}:${targetTable}`]} />,
  }));
  const all = [...columns, ...(isChanging ? changed : []), resync];
  return (
    <Panel title="Tables" actions={isChanging && <span className="muted">changes since the worker started</span>} flush>
      <Table tall label="Tables of the pipe" columns={all} {...sorted} rowKey={({ targetTable }) => targetTable} />
    </Panel>
  );
}
