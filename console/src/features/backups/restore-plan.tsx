import type { OperationResult } from "../../api/client.ts";
import { bytesText, counted, countText } from "../../lib/format.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Note } from "../../parts/note.tsx";
import { Count } from "../../parts/numbers.tsx";
import { Facts } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import type { Restore, Service } from "./backup.ts";
import css from "./backups.module.css";
import type { RestoreForm } from "./restore-form.ts";

type Plan = OperationResult<"planRestore">;
type PlannedTable = Plan["tables"][number];
type PlannedPipe = Plan["pipes"][number];

type PlanProps = {
  readonly form: RestoreForm;
  readonly plan: Plan;
  readonly services: readonly Service[];
  /** The service that was backed up. */
  readonly source: string;
};

/** What a restore does to tables, pipes and users, and how much it reads. */
export function RestorePlan({ form, plan, services, source }: PlanProps) {
  const target = form.scope === "service" ? undefined : services.find(({ id }) => id === form.target);
  const rows = plan.tables.reduce((sum, table) => sum + (table.rows ?? 0), 0);
  return (
    <>
      <Facts
        facts={[
          ["Into", target === undefined ? `a new service, “${form.name}”` : target.name],
          ["Tables", `${countText(plan.tables.length)} with ${counted(rows, "row")}`],
          ["Read from the backup", bytesText(plan.fetchedBytes)],
          ["Reachable from", target === undefined ? addressesOf(services.find(({ id }) => id === source)) : "as now"],
        ]}
      />
      {target !== undefined && !plan.targetChecked && (
        <Note tone="warn">{unreachedText(target)} Whether the new name is free is checked then.</Note>
      )}
      <div className="group">
        <h3>Tables</h3>
        <div className={css.tables}>
          <Table label="Tables to restore" columns={tableColumns} rows={plan.tables} rowKey={keyOf} />
        </div>
      </div>
      <div className="group">
        <h3>Pipes</h3>
        {plan.pipes.length === 0 ? (
          <p className="muted">{target === undefined ? "The backup contains no pipes." : "No pipe is affected."}</p>
        ) : (
          <ul className={css.effects}>
            {plan.pipes.map((pipe) => (
              <PipeEffect key={pipe.pipeId ?? pipe.name} pipe={pipe} />
            ))}
          </ul>
        )}
      </div>
      <div className="group">
        <h3>Users</h3>
        <p className="muted">{plan.users.note}</p>
      </div>
    </>
  );
}

const tableColumns: readonly Column<PlannedTable>[] = [
  { header: "In the backup", cell: ({ database, table }) => <code>{`${database}.${table}`}</code> },
  {
    header: "Will be restored as",
    cell: ({ targetDatabase, targetTable }) => <code>{`${targetDatabase}.${targetTable}`}</code>,
  },
  { header: "Rows", align: "end", cell: ({ rows }) => <Count exact value={rows ?? undefined} /> },
];

function keyOf({ database, table }: PlannedTable): string {
  return JSON.stringify([database, table]);
}

const effects: Readonly<Record<PlannedPipe["effect"], readonly [word: string, tone: Tone]>> = {
  unaffected: ["Goes on", "ok"],
  recreatedRunning: ["Will be created and started", "info"],
  recreatedStopped: ["Will be created, stopped", "neutral"],
  omitted: ["Will be left out", "warn"],
};

function PipeEffect({ pipe: { name, effect, note } }: { readonly pipe: PlannedPipe }) {
  const [word, tone] = effects[effect];
  return (
    <li>
      <span className={`row ${css.effectHead}`}>
        {name} <Badge tone={tone}>{word}</Badge>
      </span>
      {note !== undefined && <span className="muted">{note}</span>}
    </li>
  );
}

function unreachedText({ name, state }: Service): string {
  if (state === "idle") return `${name} is asleep. The restore wakes it.`;
  if (state === "stopped") return `${name} is stopped. The restore starts an engine for itself alone.`;
  return `${name} does not run yet. The restore begins when it does.`;
}

function addressesOf(source: Service | undefined): string {
  if (source === undefined) return "this machine";
  const { ipAccessList } = source;
  if (ipAccessList.length === 0) return `no address, as ${source.name}`;
  const shown = ipAccessList.slice(0, 3).map((entry) => entry.source);
  return `${shown.join(", ")}${ipAccessList.length > 3 ? " and others" : ""}, as ${source.name}`;
}

type Part = Pick<Restore, "scope" | "sourceDatabase" | "sourceTable" | "targetDatabase" | "targetTable">;

/** `table a.b as c.d`. */
export function targetText({ scope, sourceDatabase, sourceTable, targetDatabase, targetTable }: Part): string {
  if (scope === "service") return "the whole service";
  if (scope === "database") return `database ${sourceDatabase} as ${targetDatabase}`;
  return `table ${sourceDatabase}.${sourceTable} as ${targetDatabase}.${targetTable}`;
}

/** What a restore is doing. */
export function phaseText({ status, progress }: Pick<Restore, "status" | "progress">): string {
  if (status === "queued") return "Waiting for its turn";
  if (status === "done") return "Restored";
  if (status === "error") return "Failed";
  if (progress.totalBytes === 0) return "Reading what the backup contains";
  return progress.doneBytes < progress.totalBytes ? "Fetching and restoring" : "Checking the restored rows";
}

export type Sample = { readonly at: number; readonly bytes: number };

/** Seconds until all bytes are done, by the rate since the first sample; undefined while nothing moves. */
export function secondsLeft(first: Sample | undefined, now: Sample, totalBytes: number): number | undefined {
  if (first === undefined || now.at <= first.at || now.bytes <= first.bytes) return undefined;
  return ((totalBytes - now.bytes) / (now.bytes - first.bytes)) * ((now.at - first.at) / 1000);
}
