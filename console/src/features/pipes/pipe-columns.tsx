import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { Count } from "../../parts/numbers.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { StateCell } from "../../parts/state-badge.tsx";
import { type Column, mainLinkClass } from "../../parts/table.tsx";
import { KindLabel } from "./kind-icon.tsx";
import { LagText } from "./lag-text.tsx";
import type { PipeSummary } from "./list-search.ts";
import { PipeMenu } from "./pipe-actions.tsx";

export const pipeColumns: readonly Column<PipeSummary>[] = [
  { sort: "name", header: "Name", cell: (pipe) => <NameCell pipe={pipe} /> },
  {
    sort: "state",
    header: "State",

    cell: ({ state, stateMessage, stateChangedAt }) => (
      <StateCell state={state} reason={stateMessage}>
        <RelativeTime at={stateChangedAt} none="" />
      </StateCell>
    ),
  },
  { header: "Source", cell: ({ kind }) => <KindLabel kind={kind} /> },
  { header: "Table", cell: ({ destination }) => <TableCell name={tableOf(destination)} /> },
  {
    sort: "rowsPerSecond",
    header: "Rows/s",
    align: "end",

    cell: ({ rates }) => <Count value={rates?.rowsPerSecond} />,
  },
  { sort: "lag", header: "Lag", align: "end", cell: ({ lag }) => <LagText lag={lag} /> },
  { header: "Refused", align: "end", cell: (pipe) => <RefusedCell pipe={pipe} /> },
  { header: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
  {
    header: "Last success",
    align: "end",
    cell: ({ lastSuccessAt }) => <RelativeTime at={lastSuccessAt} none="never" />,
  },
  { header: "", align: "end", cell: (pipe) => <PipeMenu pipe={pipe} withState /> },
];

/** `database.table`; several tables of one database have no table here. */
export function tableOf({ database, table }: PipeSummary["destination"]): string {
  return table === undefined ? `${database ?? "default"}.*` : `${database ?? "default"}.${table}`;
}

/** The parts of the name stay whole where it has several lines. */
function TableCell({ name }: { readonly name: string }) {
  return (
    <code>
      {name.split(/(?<=[._])/).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a name may have the same part twice
        <Fragment key={at}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </code>
  );
}

function NameCell({ pipe: { id, serviceId, serviceName, name } }: { readonly pipe: PipeSummary }) {
  return (
    <div className="stack">
      <Link to="/pipes/$serviceId/$pipeId" params={{ serviceId, pipeId: id }} className={mainLinkClass}>
        {name}
      </Link>
      <span className="muted">{serviceName}</span>
    </div>
  );
}

function RefusedCell({ pipe: { id, serviceId, errors } }: { readonly pipe: PipeSummary }) {
  if (errors === undefined || errors === 0) return <Count value={errors} />;
  return (
    <Link to="/pipes/$serviceId/$pipeId/errors" params={{ serviceId, pipeId: id }}>
      <Count value={errors} />
    </Link>
  );
}
