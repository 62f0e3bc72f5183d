import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import { useMay } from "../../api/role.ts";
import { serviceAddress } from "../../lib/addresses.ts";
import { bytesText, counted, countText, durationText } from "../../lib/format.ts";
import { Button, ButtonLink } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Meter, MeterNumbers } from "../../parts/meter.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState, ErrorState, Skeleton } from "../../parts/states.tsx";
import { toast } from "../../parts/toast.tsx";
import { MoveSetup } from "./move-setup.tsx";
import type { Service } from "./service.ts";

const route = getRouteApi("/services/$serviceId/move");

/** A move of the service to a ClickHouse server: its plan, its progress, and how it ended. */
export function ServiceMovePage() {
  const { serviceId } = route.useParams();
  const service = useOperation("getService", { params: { serviceId } });
  const move = useOperation(
    "getServiceMove",
    { params: { serviceId } },
    { pace: (latest) => (latest !== undefined && isOpen(latest) ? "fast" : "slow") },
  );
  // A service that was never moved has no move. That stays known when a later request fails otherwise.
  const [isUnmoved, setUnmoved] = useState(false);
  if (move.error?.status === 404 && !isUnmoved) setUnmoved(true);
  if (move.data === undefined && !isUnmoved) {
    if (move.error === null) return <Skeleton />;
    return <ErrorState error={move.error} onRetry={() => void move.refetch()} />;
  }
  return <Answer query={service}>{(known) => <Moving service={known} move={move.data} />}</Answer>;
}

function Moving({ service, move }: { readonly service: Service; readonly move: Move | undefined }) {
  const mayMove = useMay("admin");
  if (move !== undefined && isOpen(move)) return <MoveProgress service={service} move={move} />;
  if (service.runtime === "external") {
    return (
      <Panel title="On a server of its own">
        {move?.status === "completed" ? <Completed move={move} /> : <p>{external}</p>}
      </Panel>
    );
  }
  if (!mayMove) {
    return (
      <Panel>
        <EmptyState title="This key may not move services">
          Planning and beginning a move need the role admin.
        </EmptyState>
      </Panel>
    );
  }
  return (
    <>
      {move?.status === "cancelled" && (
        <Note>
          The last move was cancelled <RelativeTime at={move.finishedAt} />. What it had made on the server is removed.
        </Note>
      )}
      <MoveSetup service={service} />
    </>
  );
}

const external = "The tables of this service are on a ClickHouse server that Millrace does not run.";

function Completed({ move }: { readonly move: Move }) {
  return (
    <>
      <Note tone="ok">
        The service was moved <RelativeTime at={move.finishedAt} />. Both sides had the same rows.
      </Note>
      {move.oldServiceId !== undefined && (
        <>
          <p>A stopped service keeps the old side until it is deleted. It has no pipes.</p>
          <div className="row">
            <ButtonLink {...serviceAddress(move.oldServiceId)}>Open the old side</ButtonLink>
          </div>
        </>
      )}
    </>
  );
}

export type Move = OperationResult<"getServiceMove">;

/** True until the move is completed or cancelled. */
export function isOpen({ status }: Move): boolean {
  return status === "copying" || status === "switching";
}

/** A move while it runs. */
function MoveProgress({ service, move }: { readonly service: Service; readonly move: Move }) {
  const [cancelling, setCancelling] = useState(false);
  const { copiedRows, totalRows, copiedBytes, totalBytes, secondsLeft } = move.progress;
  const title = move.status === "copying" ? "Rows are copied; the service goes on" : "Stopped for the last part";
  return (
    <Panel
      title={title}
      actions={
        <Button
          needs="admin"
          refusal={move.cancelRequested ? "The move is being cancelled." : undefined}
          onClick={() => setCancelling(true)}
        >
          Cancel the move
        </Button>
      }
    >
      <Meter label="Bytes copied" value={totalBytes === 0 ? 0 : copiedBytes / totalBytes} />
      <MeterNumbers>
        <span className="numeric">
          {totalBytes === 0
            ? "–"
            : `${countText(copiedRows)} of ${counted(totalRows, "row")}, ${bytesText(copiedBytes)} of ${bytesText(totalBytes)}`}
        </span>
        <span className="numeric">{secondsLeft === undefined ? "" : `about ${durationText(secondsLeft)} left`}</span>
      </MeterNumbers>
      <p className="muted">
        Begun <RelativeTime at={move.createdAt} />. Inserts meanwhile are copied too.
      </p>
      {move.message !== undefined && (
        <Note tone="warn">The last attempt ended, and the move tries again by itself: {move.message}</Note>
      )}
      {move.cancelRequested && <Note>The move is being cancelled. What it has made on the server is removed.</Note>}
      {cancelling && <CancelDialog service={service} onClose={() => setCancelling(false)} />}
    </Panel>
  );
}

function CancelDialog({ service, onClose }: { readonly service: Service; readonly onClose: () => void }) {
  const cancel = useChange("cancelServiceMove", { changes: ["getServiceMove"] });
  const confirm = async () => {
    await cancel.mutateAsync({ params: { serviceId: service.id } });
    toast(`The move of ${service.name} is being cancelled`, "info");
  };
  return (
    <ConfirmDialog
      danger
      needs="admin"
      title={`Cancel the move of ${service.name}?`}
      action="Cancel the move"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>What the move has made on the server is removed. The service stays where it is, with all its rows.</p>
    </ConfirmDialog>
  );
}
