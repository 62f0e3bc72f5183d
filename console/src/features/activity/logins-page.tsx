import { getRouteApi } from "@tanstack/react-router";
import { ShieldCheck } from "lucide-react";
import type { CallInput, OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { useMay } from "../../api/role.ts";
import { activityWords } from "../../lib/activity-words.ts";
import { countText } from "../../lib/format.ts";
import { withoutEmpty } from "../../lib/search.ts";
import { Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { Answer, EmptyState, Skeleton } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { ActivityTabs, useKeys } from "./activity-filters.tsx";

const route = getRouteApi("/activity/logins");

type Event = OperationResult<"listAuditEvents">[number];
type EventType = NonNullable<CallInput<"listAuditEvents">["query"]>["type"];

const types = ["login", "login_refused", "address_refused", "statement_refused", "leftover_given_up"];

/** Who signed in, and what was refused. */
export function LoginsPage() {
  const { type } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useOperation(
    "listAuditEvents",
    { query: { limit: 200, ...(type === undefined ? {} : { type: type as EventType }) } },
    { keep: true },
  );
  const columns = columnsOf(useNames());
  return (
    <Page title="Activity">
      <ActivityTabs />
      <div className="row">
        <InlineSelect
          label="Type"
          value={type}
          all="Everything"
          options={types.map((one) => ({ value: one, label: activityWords(one) }))}
          onChange={(next) => void navigate({ search: withoutEmpty({ type: next }), replace: true })}
        />
      </div>
      <Panel flush>
        <Answer query={query} loading={<Skeleton lines={8} />}>
          {(events) => (
            <Table
              none={
                <EmptyState icon={ShieldCheck} title="Nothing of this type">
                  Logins of keys, tokens and database users appear here, and every login, address and statement that was
                  refused.
                </EmptyState>
              }
              label="Logins and refusals"
              columns={columns}
              rows={events}
            />
          )}
        </Answer>
      </Panel>
    </Page>
  );
}

const actors: Readonly<Record<Event["actorType"], string>> = {
  api_key: "key",
  access_token: "access token",
  database_user: "database user",
};

/** Names of the keys and tokens that exist, which admins know. */
function useNames(): ReadonlyMap<string, string> {
  const tokens = useOperation("listAccessTokens", {}, { pace: "slow", enabled: useMay("admin") }).data ?? [];
  return new Map([...useKeys(), ...tokens].map(({ id, name }) => [id, name]));
}

const columnsOf = (names: ReadonlyMap<string, string>): readonly Column<Event>[] => [
  { header: "Last", nowrap: true, cell: ({ lastAt }) => <RelativeTime at={lastAt} /> },
  {
    header: "What",
    cell: ({ type, details }) => (
      <div className="stack">
        <span className="toned" data-tone={type === "login" ? undefined : "warn"}>
          {activityWords(type)}
        </span>
        {details !== "" && <span className="clamp muted">{details}</span>}
      </div>
    ),
  },
  {
    header: "Who",
    cell: ({ actorType, actorId }) => (
      <div className="stack">
        <span title={actorId}>
          {names.get(actorId) ?? <code>{actorType === "database_user" ? actorId : actorId.slice(0, 8)}</code>}
        </span>
        <span className="muted">{actors[actorType]}</span>
      </div>
    ),
  },
  { header: "From", nowrap: true, cell: ({ actorIpAddress }) => actorIpAddress },
  { header: "Times", align: "end", cell: ({ count }) => countText(count) },
];
