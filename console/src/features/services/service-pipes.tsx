import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { pipeAddress } from "../../lib/addresses.ts";
import { durationText, shortCountText } from "../../lib/format.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
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
    cell: ({ lag }) => (lag?.seconds === undefined ? "–" : durationText(lag.seconds)),
  },
];

/** The pipes that fill this service. */
export function ServicePipes({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("listAllPipes", { query: { serviceId, limit: 100 } });
  const add = (
    <ButtonLink to="/new-pipe" small icon={<Plus aria-hidden />}>
      New pipe
    </ButtonLink>
  );
  return (
    <Panel flush title="Pipes" actions={add}>
      <Answer query={query}>
        {({ pipes }) =>
          pipes.length === 0 ? (
            <EmptyState title="No pipes">A pipe loads files, topics, streams or tables into this service.</EmptyState>
          ) : (
            <Table label="Pipes" columns={columns} rows={pipes} rowKey={({ id }) => id} />
          )
        }
      </Answer>
    </Panel>
  );
}
