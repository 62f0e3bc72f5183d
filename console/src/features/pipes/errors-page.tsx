import { useNavigate, useSearch } from "@tanstack/react-router";
import { CircleAlert, CircleCheck } from "lucide-react";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { counted } from "../../lib/format.ts";
import { Badge } from "../../parts/badge.tsx";
import { Count } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { ServiceAway } from "../../parts/service-away.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { ErrorGroup } from "./error-group.tsx";
import type { ErrorFilters } from "./error-types.ts";
import { usePipeParams } from "./use-pipe.ts";

const route = "/pipes/$serviceId/$pipeId/errors" as const;

/** What was refused and why, by cause, and loading it again. */
export function ErrorsPage() {
  const { state = "refused", origin } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const change = (next: object) => void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const filters: ErrorFilters = { state, ...(origin === undefined ? {} : { origin }) };
  return (
    <>
      <div className="row">
        <InlineSelect
          label="Which rows"
          value={state}
          onChange={(next) => change({ state: next === "refused" ? undefined : next, group: undefined })}
          options={[
            { value: "refused", label: "Not loaded" },
            { value: "replayed", label: "Replayed" },
            { value: "all", label: "All" },
          ]}
        />
        <SearchInput
          label="Origin"
          placeholder="Partition, shard, object or table"
          value={origin ?? ""}
          onChange={(text) => change({ origin: text || undefined })}
        />
      </div>
      <Groups filters={filters} />
      <ErrorRequests />
    </>
  );
}

function Groups({ filters }: { readonly filters: ErrorFilters }) {
  const params = usePipeParams();
  // The rows are in a table of the service: a sleeping one is woken only by the button.
  const [wake, setWake] = useState<"never" | "auto">("never");
  const groups = useOperation(
    "listPipeErrors",
    { params, query: { ...filters, wake } },
    { pace: wake === "never" ? "slow" : "never", keep: true },
  );
  if (groups.error?.code === "SERVICE_ASLEEP") {
    const ask = async () => setWake("auto");
    return (
      <Panel title="Refused rows are in a table of the service">
        <ServiceAway serviceId={params.serviceId} reads={["listPipeErrors"]} onWake={ask} wakeLabel="Wake and show" />
      </Panel>
    );
  }
  return (
    <Answer query={groups}>
      {(answer) =>
        answer.length === 0 ? (
          <EmptyState icon={CircleCheck} title="No refused rows">
            {filters.state === "refused"
              ? "Everything that came in the last 7 days is loaded, or was replayed or discarded."
              : "No row of the last 7 days matches."}
          </EmptyState>
        ) : (
          <Panel title={counted(answer.length, "cause")} flush>
            <ul>
              {answer.map((group) => (
                <ErrorGroup key={group.id} group={group} filters={filters} />
              ))}
            </ul>
          </Panel>
        )
      }
    </Answer>
  );
}

type Request = OperationResult<"listPipeErrorRequests">[number];

const columns: readonly Column<Request>[] = [
  { header: "Request", cell: ({ kind }) => (kind === "replay" ? "Replay" : "Discard") },
  {
    header: "State",
    cell: ({ kind, state, reason, replayedRows, refusedRows }) => (
      <div className="stack">
        <span>
          {state === "done" && kind === "replay" && (refusedRows ?? 0) > 0 ? (
            <Badge tone={(replayedRows ?? 0) === 0 ? "bad" : "warn"} icon={CircleAlert}>
              {(replayedRows ?? 0) === 0 ? "Nothing loaded" : "Partly loaded"}
            </Badge>
          ) : (
            <StateBadge state={state} />
          )}
        </span>
        {reason !== undefined && <span className="muted">{reason}</span>}
      </div>
    ),
  },
  { header: "Rows", align: "end", cell: ({ selectedRows }) => <Count value={selectedRows} exact /> },
  { header: "Loaded", align: "end", cell: ({ replayedRows }) => <Count value={replayedRows} exact /> },
  { header: "Refused again", align: "end", cell: (one) => <Count value={one.refusedRows} exact /> },
  { header: "By", cell: ({ requestedBy }) => requestedBy },
  { header: "Asked", align: "end", cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
];

/** Replays and discards: what was asked for, and what became of it. */
function ErrorRequests() {
  const params = usePipeParams();
  const requests = useOperation(
    "listPipeErrorRequests",
    { params },
    { pace: (list) => (list?.some(({ state }) => state === "pending") ? "fast" : "live") },
  );
  if (requests.data === undefined || requests.data.length === 0) return null;
  return (
    <Panel title="Replays and discards" flush>
      <Table label="Replays and discards" columns={columns} rows={requests.data} />
    </Panel>
  );
}
