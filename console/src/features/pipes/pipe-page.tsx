import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import { Bell } from "lucide-react";
import { pipeFindings } from "../../../../src/api/attention.ts";
import { useOperation } from "../../api/queries.ts";
import { newStateAlertAddress, pipeErrorsAddress, serviceAddress } from "../../lib/addresses.ts";
import { durationText } from "../../lib/format.ts";
import { inLabels } from "../../lib/source-words.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import { Elapsed } from "../../parts/relative-time.tsx";
import { ServiceAway } from "../../parts/service-away.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Answer } from "../../parts/states.tsx";
import { NavTabs } from "../../parts/tabs.tsx";
import { KindLabel } from "./kind-icon.tsx";
import type { PipeSummary } from "./list-search.ts";
import { PipeMenu, type PipeSubject, pipeReads, ResyncButton, StateButton } from "./pipe-actions.tsx";
import { kindOf, type PipeDetails, usePipe, usePipeSummary } from "./use-pipe.ts";

/** The frame of all screens of one pipe: state, actions and tabs. */
export function PipePage() {
  return <Answer query={usePipe()}>{(pipe) => <Loaded pipe={pipe} />}</Answer>;
}

function Loaded({ pipe }: { readonly pipe: PipeDetails }) {
  const { id, serviceId, name, state } = pipe;
  const navigate = useNavigate();
  const summary = usePipeSummary(pipe);
  const service = useOperation("getService", { params: { serviceId } }, { pace: "slow" });
  const subject: PipeSubject = { id, serviceId, name, state, kind: kindOf(pipe) };
  const isLost = pipe.needsResync !== undefined && pipe.needsResync.tables === undefined;
  const params = { serviceId, pipeId: id };
  const below = (
    <>
      <KindLabel kind={subject.kind} />
      <span>
        in <Link {...serviceAddress(serviceId)}>{service.data?.name ?? summary?.serviceName ?? "its service"}</Link>
      </span>
      <span>
        for <Elapsed since={summary?.stateChangedAt} />
      </span>
    </>
  );
  const actions = (
    <>
      <ButtonLink
        {...newStateAlertAddress("pipe_attention", `pipe:${id}`, `${name} needs attention`)}
        needs="developer"
        icon={Bell}
      >
        Alert me
      </ButtonLink>
      {/* A start would fail again. */}
      {isLost ? <ResyncButton pipe={subject} /> : <StateButton pipe={subject} />}
      <PipeMenu pipe={subject} onDeleted={() => void navigate({ to: "/pipes" })} />
    </>
  );
  return (
    <Page title={name} badge={<StateBadge state={state} />} below={below} id={id} actions={actions}>
      {service.data?.state === "stopped" || service.data?.state === "failed" ? (
        <ServiceAway serviceId={serviceId} reads={pipeReads} />
      ) : (
        <Reason pipe={pipe} />
      )}
      {summary !== undefined && <Findings summary={summary} />}
      <NavTabs
        label="Pipe"
        tabs={[
          { to: "/pipes/$serviceId/$pipeId", params, label: "Overview" },
          { to: "/pipes/$serviceId/$pipeId/errors", params, label: "Refused rows" },
          { to: "/pipes/$serviceId/$pipeId/activity", params, label: "Activity" },
          { to: "/pipes/$serviceId/$pipeId/configuration", params, label: "Configuration" },
        ]}
      />
      <Outlet />
    </Page>
  );
}

/** What the overview of all says of the pipe, but for its state. */
function Findings({ summary }: { readonly summary: PipeSummary }) {
  const found = pipeFindings(summary, durationText).filter(({ about }) => about !== "state");
  return found.map(({ about, sentence }) => (
    <Note key={about} tone="warn">
      {sentence}{" "}
      {about === "refused" && <Link {...pipeErrorsAddress(summary.serviceId, summary.id)}>Show their causes</Link>}
    </Note>
  ));
}

/** Why the pipe is not well now; what has been is on the overview. */
function Reason({ pipe: { state, lastError, sourceWarning } }: { readonly pipe: PipeDetails }) {
  const isFailed = state === "Failed" || state === "InternalError";
  return (
    <>
      {lastError !== undefined && <Note tone={isFailed ? "bad" : "warn"}>{inLabels(lastError)}</Note>}
      {sourceWarning !== undefined && <Note tone="warn">{inLabels(sourceWarning)}</Note>}
    </>
  );
}
