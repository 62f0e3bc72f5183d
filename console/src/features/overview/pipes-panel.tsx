import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { pipeAddress } from "../../lib/addresses.ts";
import { durationText, shortCountText } from "../../lib/format.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Count } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";

type Pipe = OperationResult<"listAllPipes">["pipes"][number];

const columns: readonly Column<Pipe>[] = [
  {
    key: "name",
    header: "Pipe",
    cell: ({ name, serviceId, id }) => (
      <Link className={mainLinkClass} {...pipeAddress(serviceId, id)}>
        {name}
      </Link>
    ),
  },
  { key: "service", header: "Service", wide: true, cell: ({ serviceName }) => serviceName },
  { key: "state", header: "State", cell: ({ state }) => <StateBadge state={state} /> },
  {
    key: "rate",
    header: "Rows/s",
    align: "end",
    cell: ({ rates }) => (rates === undefined ? "–" : shortCountText(rates.rowsPerSecond)),
  },
  {
    key: "lag",
    header: "Behind",
    align: "end",
    wide: true,
    cell: ({ lag }) => (lag?.seconds === undefined ? "–" : durationText(lag.seconds)),
  },
  { key: "rows", header: "Rows", align: "end", wide: true, cell: ({ rows }) => <Count value={rows} /> },
];

const shown = 8;

/** The busiest pipes. */
export function PipesPanel({ pipes }: { readonly pipes: readonly Pipe[] }) {
  const actions = (
    <ButtonLink to="/new-pipe" small icon={<Plus aria-hidden />}>
      New pipe
    </ButtonLink>
  );
  return (
    <Panel flush title="Busiest pipes" actions={actions}>
      {pipes.length === 0 ? (
        <EmptyState title="No pipes yet">
          A pipe loads files, topics, streams or tables into a service, each row exactly once.
        </EmptyState>
      ) : (
        <Table label="Pipes" columns={columns} rows={pipes.slice(0, shown)} rowKey={({ id }) => id} />
      )}
    </Panel>
  );
}
