import { getRouteApi, Link } from "@tanstack/react-router";
import { History } from "lucide-react";
import type { ReactNode } from "react";
import { type CallInput, call } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { activityWords, actorWords, objectWords } from "../../lib/activity-words.ts";
import { inWords } from "../../lib/format.ts";
import { saveFile } from "../../lib/save-file.ts";
import { withoutEmpty } from "../../lib/search.ts";
import { timeText } from "../../lib/zone.ts";
import { Button, ButtonLink } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { DownloadButton } from "../../parts/download-button.tsx";
import { Facts, Page, Panel } from "../../parts/page.tsx";
import { RelativeTime, useServerNow } from "../../parts/relative-time.tsx";
import { Answer, EmptyState, Skeleton } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import css from "./activity.module.css";
import { ActivityFilters, ActivityTabs } from "./activity-filters.tsx";
import { type Activity, type ActivitySearch, addressOf, queryOf, toneOf } from "./activity-search.ts";

const route = getRouteApi("/activity");

/** Who did what, and what became of services, pipes, backups and restores. */
export function ActivityPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = queryOf(search, useServerNow());
  const answer = useOperation("listActivities", { query }, { keep: true, pace: search.cursor ? "never" : "live" });
  /** Other filters begin at the newest again. */
  const change = (next: ActivitySearch) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, cursor: "", ...next }), replace: true });
  const show = (id: string) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, id }), replace: id === "" });
  return (
    <Page
      title="Activity"
      actions={<DownloadButton save={() => saveActivities(query)}>Download NDJSON</DownloadButton>}
    >
      <ActivityTabs />
      <ActivityFilters search={search} onChange={change} />
      <Panel flush>
        <Answer query={answer} loading={<Skeleton lines={8} />}>
          {({ activities }) => (
            <Activities activities={activities} onShow={show} onAll={() => change(noFilter)} search={search} />
          )}
        </Answer>
      </Panel>
      <Pager search={search} nextCursor={answer.data?.nextCursor} />
      {search.id !== undefined && <ActivityDialog activityId={search.id} onClose={() => show("")} />}
    </Page>
  );
}

const noFilter: ActivitySearch = { group: "", type: "", object: "", actor: "", range: "" };

type ActivitiesProps = {
  readonly activities: readonly Activity[];
  readonly search: ActivitySearch;
  readonly onShow: (id: string) => void;
  readonly onAll: () => void;
};

function Activities({ activities, search, onShow, onAll }: ActivitiesProps) {
  if (activities.length > 0) {
    return <Table label="Activities" columns={activityColumns(onShow)} rows={activities} />;
  }
  const isFiltered = Object.entries(search).some(([name, value]) => name !== "id" && value !== undefined);
  if (!isFiltered) {
    return (
      <EmptyState icon={History} title="Nothing happened yet">
        Every request that changes something and every change of a state appears here, with who asked for it.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={History} title="No activity matches" actions={<Button onClick={onAll}>Show all</Button>}>
      Activities are kept for a limited number of days; the server's configuration says how many.
    </EmptyState>
  );
}

function Pager({ search, nextCursor }: { readonly search: ActivitySearch; readonly nextCursor: string | undefined }) {
  if (search.cursor === undefined && nextCursor === undefined) return null;
  const { cursor, id, ...filters } = search;
  return (
    <div className={`row ${css.pager}`}>
      <span className="muted">100 on a page, newest first</span>
      <div className="row">
        {cursor !== undefined && (
          <ButtonLink to="/activity" search={filters}>
            Newest
          </ButtonLink>
        )}
        {nextCursor !== undefined && (
          <ButtonLink to="/activity" search={{ ...filters, cursor: nextCursor }}>
            Older
          </ButtonLink>
        )}
      </div>
    </div>
  );
}

type Query = NonNullable<CallInput<"listActivities">["query"]>;

/** The server keeps at most 100,000. */
const most = 10_000;

/** Saves the activities that match as lines of JSON, newest first. */
async function saveActivities(query: Query): Promise<void> {
  const activities = await allOf(query);
  saveFile("activities.ndjson", activities.map((activity) => `${JSON.stringify(activity)}\n`).join(""));
  if (activities.length === most) toast(`The file has the newest ${most} activities; choose a range for older ones`);
}

async function allOf(query: Query): Promise<Activity[]> {
  const found: Activity[] = [];
  let cursor: string | undefined;
  do {
    const { cursor: _page, ...filters } = query;
    const page = await call("listActivities", {
      query: { ...filters, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) },
    });
    found.push(...page.activities);
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length < most);
  return found.slice(0, most);
}

type ActivityDialogProps = { readonly activityId: string; readonly onClose: () => void };

/** Everything that is known about an activity. Its address can be sent to others. */
function ActivityDialog({ activityId, onClose }: ActivityDialogProps) {
  const query = useOperation("getActivity", { params: { activityId } }, { pace: "never" });
  const navigate = route.useNavigate();
  const only = (search: object) => void navigate({ search: () => search });
  return (
    <Dialog
      open
      wide
      title="Activity"
      onClose={onClose}
      actions={
        query.data !== undefined && (
          <>
            <Button onClick={() => only({ object: query.data.objectId })}>All of this object</Button>
            <Button onClick={() => only({ type: query.data.type })}>All of this kind</Button>
          </>
        )
      }
    >
      <Answer query={query}>
        {(activity) => (
          <>
            <Facts facts={factsOf(activity)} />
            <CodeBlock label="JSON" text={JSON.stringify(activity, null, 2)} />
          </>
        )}
      </Answer>
    </Dialog>
  );
}

function factsOf(activity: Activity): readonly (readonly [string, ReactNode])[] {
  const { createdAt, type, reason, fields, actorType, actorDetails, actorIpAddress, userAgent, requestId } = activity;
  const facts: readonly (readonly [string, ReactNode] | undefined)[] = [
    ["What", activityWords(type)],
    ["When", <RelativeTime key="when" at={createdAt} />],
    ["Object", <ObjectCell key="object" activity={activity} />],
    reason === undefined ? undefined : ["Reason", inWords(reason)],
    fields === undefined || fields.length === 0 ? undefined : ["Members set", fields.join(", ")],
    ["Who", actorWords(actorType, actorDetails)],
    actorIpAddress === undefined ? undefined : ["From", actorIpAddress],
    userAgent === undefined ? undefined : ["With", userAgent],
    requestId === undefined ? undefined : ["Request", <RequestId key="request" id={requestId} />],
  ];
  return facts.filter((fact) => fact !== undefined);
}

function RequestId({ id }: { readonly id: string }) {
  return (
    <>
      <code>{id}</code> <CopyButton text={id} label="Copy request id" />
    </>
  );
}

export function activityColumns(onShow: (id: string) => void): readonly Column<Activity>[] {
  return [
    {
      header: "Time",
      nowrap: true,
      cell: ({ createdAt }) => (
        <div className="stack">
          <span className="numeric">{timeText(Date.parse(createdAt)).slice(5)}</span>
          <span className="muted">
            <RelativeTime at={createdAt} />
          </span>
        </div>
      ),
    },
    { header: "What", cell: (activity) => <WhatCell activity={activity} onShow={onShow} /> },
    { header: "Object", cell: (activity) => <ObjectCell activity={activity} /> },
    {
      header: "Who",
      cell: ({ actorType, actorDetails, actorIpAddress }) => (
        <div className="stack">
          <span>{actorWords(actorType, actorDetails)}</span>
          {actorIpAddress !== undefined && <span className={`muted ${css.address}`}>{actorIpAddress}</span>}
        </div>
      ),
    },
  ];
}

type WhatProps = { readonly activity: Activity; readonly onShow: (id: string) => void };

function WhatCell({ activity, onShow }: WhatProps) {
  const { id, type, reason, fields } = activity;
  const tone = toneOf(type);
  return (
    <div className="stack">
      <button type="button" className={`plain toned ${css.open}`} data-tone={tone} onClick={() => onShow(id)}>
        {activityWords(type)}
      </button>
      {reason !== undefined && (
        <span className="clamp muted" title={inWords(reason)}>
          {inWords(reason)}
        </span>
      )}
      {fields !== undefined && fields.length > 0 && <span className="muted">set {fields.join(", ")}</span>}
    </div>
  );
}

function ObjectCell({ activity }: { readonly activity: Activity }) {
  const { objectName, objectType, objectId } = activity;
  const address = addressOf(activity);
  const name = objectName ?? objectId.slice(0, 8);
  return (
    <div className="stack">
      {address === undefined ? <span>{name}</span> : <Link {...address}>{name}</Link>}
      <span className="muted">{objectWords(objectType)}</span>
    </div>
  );
}
