import { CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import { countText } from "../../lib/format.ts";
import { Badge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./system.module.css";
import type { System } from "./system.ts";

type Loop = System["loops"][number];

/** The loops that bring services, pipes and backups into their desired state. Failing ones are first. */
export function LoopsPanel({ loops }: { readonly loops: readonly Loop[] }) {
  const rows = loops.toSorted((a, b) => b.consecutiveFailures - a.consecutiveFailures || a.name.localeCompare(b.name));
  return (
    <Panel flush title="Loops">
      <Table label="Loops" columns={columns} rows={rows} rowKey={({ name }) => name} />
    </Panel>
  );
}

const columns: readonly Column<Loop>[] = [
  { key: "name", header: "Name", cell: ({ name }) => name },
  { key: "state", header: "State", nowrap: true, cell: (loop) => <LoopState loop={loop} /> },
  { key: "passes", header: "Passes", align: "end", cell: ({ passes }) => countText(passes) },
  {
    key: "error",
    header: "Last error",
    cell: ({ consecutiveFailures, lastError }) =>
      lastError === undefined ? (
        <span className="muted">none</span>
      ) : (
        <span className={consecutiveFailures > 0 ? css.error : "muted"}>{lastError}</span>
      ),
  },
];

function LoopState({ loop: { consecutiveFailures, running, passes } }: { readonly loop: Loop }) {
  if (consecutiveFailures > 0) {
    return (
      <Badge tone="bad" icon={CircleX}>
        {consecutiveFailures === 1 ? "Failed once" : `Failed ${countText(consecutiveFailures)} times in a row`}
      </Badge>
    );
  }
  if (passes === 0) {
    return (
      <Badge tone="neutral" icon={LoaderCircle}>
        {running ? "First pass" : "Not begun"}
      </Badge>
    );
  }
  return (
    <Badge tone="ok" icon={CircleCheck}>
      Well
    </Badge>
  );
}
