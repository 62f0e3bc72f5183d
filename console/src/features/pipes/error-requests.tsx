import { CircleAlert } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Count } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { usePipeParams } from "./use-pipe.ts";

type Request = OperationResult<"listPipeErrorRequests">[number];

const columns: readonly Column<Request>[] = [
  { key: "kind", header: "Request", cell: ({ kind }) => (kind === "replay" ? "Replay" : "Discard") },
  {
    key: "state",
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
  { key: "selected", header: "Rows", align: "end", cell: ({ selectedRows }) => <Count value={selectedRows} exact /> },
  { key: "replayed", header: "Loaded", align: "end", cell: ({ replayedRows }) => <Count value={replayedRows} exact /> },
  { key: "again", header: "Refused again", align: "end", cell: (one) => <Count value={one.refusedRows} exact /> },
  { key: "by", header: "By", cell: ({ requestedBy }) => requestedBy },
  { key: "at", header: "Asked", align: "end", cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
];

/** Replays and discards: what was asked for, and what became of it. */
export function ErrorRequests() {
  const params = usePipeParams();
  const requests = useOperation(
    "listPipeErrorRequests",
    { params },
    { pace: (list) => (list?.some(({ state }) => state === "pending") ? "fast" : "live") },
  );
  if (requests.data === undefined || requests.data.length === 0) return null;
  return (
    <Panel title="Replays and discards" flush>
      <Table label="Replays and discards" columns={columns} rows={requests.data} rowKey={({ id }) => id} />
    </Panel>
  );
}
