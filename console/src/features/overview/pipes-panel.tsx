import { Plus } from "lucide-react";
import { ButtonLink } from "../../parts/button.tsx";
import { Count } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { type ListedPipe, pipeSummary } from "../../parts/pipe-summary.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";

const columns: readonly Column<ListedPipe>[] = [
  pipeSummary.name,
  { key: "service", header: "Service", cell: ({ serviceName }) => serviceName },
  pipeSummary.state,
  pipeSummary.rate,
  { ...pipeSummary.lag },
  { key: "rows", header: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
];

const shown = 8;

/** The busiest pipes. */
export function PipesPanel({ pipes }: { readonly pipes: readonly ListedPipe[] }) {
  const actions = (
    <ButtonLink to="/new-pipe" small icon={Plus}>
      New pipe
    </ButtonLink>
  );
  return (
    <Panel flush title="Busiest pipes" actions={actions}>
      <Table
        none={
          <EmptyState title="No pipes yet">
            A pipe loads files, topics, streams or tables into a service, each row exactly once.
          </EmptyState>
        }
        label="Pipes"
        columns={columns}
        rows={pipes.slice(0, shown)}
        rowKey={({ id }) => id}
      />
    </Panel>
  );
}
