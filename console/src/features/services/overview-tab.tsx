import { getRouteApi } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { Note } from "../../parts/note.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { Tile, Tiles } from "../../parts/page.tsx";
import { Elapsed, RelativeTime } from "../../parts/relative-time.tsx";
import { Answer } from "../../parts/states.tsx";
import { HistoryPanel } from "./history-panel.tsx";
import type { Service } from "./service.ts";
import { ServicePipes } from "./service-pipes.tsx";
import { StatePanel } from "./state-panel.tsx";
import { TablesPanel } from "./tables-panel.tsx";

const route = getRouteApi("/services/$serviceId");

/** Is this database well, and what is in it? Nothing here wakes it. */
export function ServiceOverviewTab() {
  const { serviceId } = route.useParams();
  const query = useOperation("getService", { params: { serviceId } });
  return (
    <Answer query={query}>
      {(service) => (
        <>
          <StateNote service={service} />
          <Numbers service={service} />
          <StatePanel serviceId={serviceId} />
          <HistoryPanel serviceId={serviceId} />
          <div className="cells">
            <TablesPanel serviceId={serviceId} />
            <ServicePipes serviceId={serviceId} />
          </div>
        </>
      )}
    </Answer>
  );
}

function StateNote({ service }: { readonly service: Service }) {
  const { state, stateMessage } = service;
  if (state === "idle") {
    return (
      <Note>
        Asleep for <Elapsed since={service.stateChangedAt} />. A query wakes it in about 0.2 s, and so does the button
        Wake; looking at this page does not.
      </Note>
    );
  }
  if (stateMessage === undefined) return null;
  return <Note tone={state === "failed" ? "bad" : "warn"}>{stateMessage}</Note>;
}

function Numbers({ service }: { readonly service: Service }) {
  const { lastBackup, idle, pipes } = service;
  const quota = service.diskGb === undefined ? "no quota" : `of ${service.diskGb} GiB`;
  return (
    <Tiles>
      <Tile label="Rows" note="as the engine reported last">
        <Count value={service.rows} />
      </Tile>
      <Tile label="Disk" note={quota}>
        <Bytes value={service.diskUsedBytes} />
      </Tile>
      <Tile label="Pipes" note={`${pipes.total} in all`}>
        {pipes.running} running
      </Tile>
      <Tile
        label="Last query"
        note={
          idle.idleAt === undefined ? undefined : (
            <>
              sleeps <RelativeTime at={idle.idleAt} /> without another one
            </>
          )
        }
      >
        <RelativeTime at={idle.lastQueryAt} none="none yet" />
      </Tile>
      <Tile
        label="Last backup"
        note={lastBackup === undefined ? "the schedule makes the first one" : `check: ${lastBackup.verification}`}
      >
        <RelativeTime at={lastBackup?.finishedAt ?? lastBackup?.startedAt} none="none yet" />
      </Tile>
    </Tiles>
  );
}
