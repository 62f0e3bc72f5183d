import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useChange } from "../../api/queries.ts";
import { bytesText, counted, countText, durationText } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Meter, MeterNumbers } from "../../parts/meter.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { toast } from "../../parts/toast.tsx";
import type { Service } from "./service.ts";

export type Move = OperationResult<"getServiceMove">;

/** True until the move is completed or cancelled. */
export function isOpen({ status }: Move): boolean {
  return status === "copying" || status === "switching";
}

/** A move while it runs. */
export function MoveProgress({ service, move }: { readonly service: Service; readonly move: Move }) {
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
