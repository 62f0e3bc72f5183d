import { useNavigate, useSearch } from "@tanstack/react-router";
import { RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import { bytesText, counted } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Asking } from "../../parts/dialog.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import type { ErrorFilters, Group } from "./error-types.ts";
import css from "./pipes.module.css";
import { usePipeParams } from "./use-pipe.ts";

const route = "/pipes/$serviceId/$pipeId/errors" as const;

type ErrorGroupProps = { readonly group: Group; readonly filters: ErrorFilters };

/** Rows with one cause. Which group is open is in the address. */
export function ErrorGroup({ group, filters }: ErrorGroupProps) {
  const { group: opened } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const isOpen = opened === group.id;
  const { rows, origins, example } = group;
  const toggle = () =>
    void navigate({ search: (before) => ({ ...before, group: isOpen ? undefined : group.id }), replace: true });
  return (
    <li className={`group ${css.group}`}>
      <div className={css.groupHead}>
        <div className={css.groupText}>
          <strong>{example.message}</strong>
          <span className="muted">
            {counted(rows, "row")} from {counted(origins, "origin")} · first <RelativeTime at={group.firstAt} /> · last{" "}
            <RelativeTime at={group.lastAt} />
          </span>
        </div>
        <div className="row">
          <Button small aria-expanded={isOpen} onClick={toggle}>
            {isOpen ? "Hide rows" : "Show rows"}
          </Button>
          {filters.state === "refused" && <GroupActions group={group} filters={filters} />}
        </div>
      </div>
      {isOpen && <ErrorRows groupId={group.id} filters={filters} />}
      {!isOpen && example.raw !== "" && <pre className="raw">{example.raw}</pre>}
    </li>
  );
}

const changes = ["listPipeErrors", "listPipeErrorRows", "listPipeErrorRequests", "getPipe", "listAllPipes"] as const;

function GroupActions({ group: { id, rows, replayableRows }, filters }: ErrorGroupProps) {
  const params = usePipeParams();
  const selection = { group: id, ...(filters.origin === undefined ? {} : { origin: filters.origin }) };
  const replay = useChange("replayPipeErrors", { changes, onDone: () => toast("The replay has begun.", "info") });
  const discard = useChange("discardPipeErrors", { changes, onDone: () => toast("The rows are discarded.") });
  const lost = replayableRows === 0 ? "The rows are not kept completely, so they cannot be loaded again." : undefined;
  return (
    <>
      <Button
        small
        needs="developer"
        refusal={lost}
        busy={replay.isPending}
        icon={RotateCcw}
        onClick={() => void replay.mutateAsync({ params, query: {}, body: selection } as never).catch(toastError)}
      >
        Replay
      </Button>
      <Asking
        button={
          <Button small needs="developer" look="quiet" icon={Trash2}>
            Discard …
          </Button>
        }
        title={`Discard ${counted(rows, "row")}`}
        action="Discard"
        danger
        needs="developer"
        onConfirm={() => discard.mutateAsync({ params, query: selection } as never)}
      >
        <p>They are deleted from the table of refused rows and cannot be replayed later.</p>
      </Asking>
    </>
  );
}

type Row = OperationResult<"listPipeErrorRows">["rows"][number];

const columns: readonly Column<Row>[] = [
  { header: "Refused", nowrap: true, cell: ({ time }) => <RelativeTime at={time} /> },
  { header: "Origin", cell: ({ origin }) => <code>{origin}</code> },
  { header: "Position", cell: ({ position }) => <code>{position}</code> },
  { header: "Row and reason", cell: (row) => <RowCell row={row} /> },
];

/** The rows of a group with their bytes, newest first. */
function ErrorRows({ groupId, filters }: { readonly groupId: string; readonly filters: ErrorFilters }) {
  const params = usePipeParams();
  const [cursor, setCursor] = useState<string>();
  const query = { ...filters, group: groupId, limit: 20, ...(cursor === undefined ? {} : { cursor }) };
  const rows = useOperation("listPipeErrorRows", { params, query }, { pace: "never", keep: true });
  return (
    <Answer query={rows}>
      {({ rows: shown, nextCursor }) => (
        <>
          <Table label="Refused rows" columns={columns} rows={shown} />
          {(cursor !== undefined || nextCursor !== undefined) && (
            <div className="more">
              {cursor !== undefined && <Button onClick={() => setCursor(undefined)}>Newest</Button>}
              {nextCursor !== undefined && <Button onClick={() => setCursor(nextCursor)}>Older</Button>}
            </div>
          )}
        </>
      )}
    </Answer>
  );
}

function RowCell({ row }: { readonly row: Row }) {
  const { message, raw, rawFormat, rawSizeBytes, triedAt, replayedAt, replayedBy } = row;
  return (
    <div className={css.groupText}>
      <span>{message}</span>
      <pre className="raw">{raw}</pre>
      <span className="muted">
        {bytesText(rawSizeBytes)}
        {rawFormat === "hex" && ", shown as hex"}
        {triedAt !== undefined && (
          <>
            {" "}
            · tried again <RelativeTime at={triedAt} />
          </>
        )}
        {replayedAt !== undefined && (
          <>
            {" "}
            · replayed <RelativeTime at={replayedAt} /> by {replayedBy ?? "a key"}
          </>
        )}{" "}
        <CopyButton text={raw} label="Copy row" />
      </span>
    </div>
  );
}
