import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { useMay } from "../../api/role.ts";
import { serviceAddress } from "../../lib/addresses.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState, ErrorState, Skeleton } from "../../parts/states.tsx";
import { isOpen, type Move, MoveProgress } from "./move-progress.tsx";
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
