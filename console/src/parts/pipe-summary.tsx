/** Columns of the short tables of pipes beside other things. The list of pipes has more, and other widths. */
import { Link } from "@tanstack/react-router";
import type { OperationResult } from "../api/client.ts";
import { pipeAddress } from "../lib/addresses.ts";
import { durationText, shortCountText } from "../lib/format.ts";
import { StateBadge } from "./state-badge.tsx";
import { type Column, mainLinkClass } from "./table.tsx";

export type ListedPipe = OperationResult<"listAllPipes">["pipes"][number];

export const pipeSummary = {
  name: {
    header: "Pipe",
    cell: ({ name, serviceId, id }) => (
      <Link className={mainLinkClass} {...pipeAddress(serviceId, id)}>
        {name}
      </Link>
    ),
  },
  state: { header: "State", cell: ({ state }) => <StateBadge state={state} /> },
  rate: {
    header: "Rows/s",
    align: "end",
    cell: ({ rates }) => (rates === undefined ? "–" : shortCountText(rates.rowsPerSecond)),
  },
  lag: {
    header: "Behind",
    align: "end",
    cell: ({ lag }) => (lag?.seconds === undefined ? "–" : durationText(lag.seconds)),
  },
} satisfies Record<string, Column<ListedPipe>>;
