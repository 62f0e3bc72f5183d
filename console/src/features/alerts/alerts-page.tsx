import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Bell, Plus } from "lucide-react";
import { useOperation } from "../../api/queries.ts";
import { newStateAlertAddress } from "../../lib/addresses.ts";
import { Button, ButtonLink } from "../../parts/button.tsx";
import { Filters, Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import { type Alert, alertName, alertStates, conditionText, sortedAlerts } from "./alert.ts";
import { AlertMenu } from "./alert-menu.tsx";
import { AlertStateBadge, stateWord } from "./alert-state.tsx";
import { AlertTabs } from "./alert-tabs.tsx";
import { type ListSearch, listSearch, matchingAlerts } from "./list-search.ts";
import { type Known, useKnown, watchedBy } from "./watched.ts";
import { WatchedLink } from "./watched-link.tsx";

/** All alerts of the organization, those that fire first. */
export function AlertsPage() {
  const query = useOperation("listAlerts", { query: {} });
  return (
    <Page
      title="Alerts"
      actions={
        <ButtonLink to="/alerts/new" look="primary" icon={Plus}>
          New alert
        </ButtonLink>
      }
    >
      <AlertTabs />
      <Answer query={query}>{({ data }) => (data.length === 0 ? <NoAlert /> : <AlertList alerts={data} />)}</Answer>
    </Page>
  );
}

function AlertList({ alerts }: { readonly alerts: readonly Alert[] }) {
  const known = useKnown();
  const search: ListSearch = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const change = (next: { readonly q?: string; readonly state?: string }) =>
    void navigate({ search: (before) => listSearch({ ...before, ...next }), replace: true });
  const shown = sortedAlerts(matchingAlerts(alerts, search));
  return (
    <>
      <Filters>
        <SearchInput label="Find alerts by name" value={search.q ?? ""} onChange={(q) => change({ q })} />
        <InlineSelect
          label="State"
          value={search.state}
          all="All states"
          options={alertStates.map((value) => ({ value, label: stateWord(value) }))}
          onChange={(state) => change({ state })}
        />
      </Filters>
      {shown.length === 0 ? (
        <EmptyState title="No alert matches" actions={<Button onClick={() => change(all)}>Show all alerts</Button>}>
          Other filters may show more.
        </EmptyState>
      ) : (
        <Panel flush title={summary(shown)}>
          <Table label="Alerts" columns={columnsOf(known)} rows={shown} rowKey={({ id }) => id} />
        </Panel>
      )}
    </>
  );
}

const all = { q: "", state: "" };

function summary(alerts: readonly Alert[]): string {
  const firing = alerts.filter(({ state }) => state === "ALERT").length;
  const all = alerts.length === 1 ? "1 alert" : `${alerts.length} alerts`;
  return firing === 0 ? all : `${all}, ${firing} firing`;
}

function NoAlert() {
  return (
    <EmptyState
      icon={Bell}
      title="No alerts yet"
      actions={<ButtonLink {...newStateAlertAddress("pipe_attention")}>Alert me of pipes</ButtonLink>}
    >
      An alert calls a webhook when a pipe, a service or a backup needs attention, or when the rows of a filter or the
      values of a chart pass a threshold. Charts are made in Explore: choose “Create alert” in their menu.
    </EmptyState>
  );
}

function columnsOf(known: Known): Column<Alert>[] {
  return [
    {
      key: "name",
      header: "Name",
      cell: (alert) => (
        <Link to="/alerts/$alertId" params={{ alertId: alert.id }} className={mainLinkClass}>
          {alertName(alert)}
        </Link>
      ),
    },
    {
      key: "state",
      header: "State",
      nowrap: true,
      cell: ({ state, stateChangedAt }) => (
        <span className="stack">
          <AlertStateBadge state={state} />
          <span className="muted">
            <RelativeTime at={stateChangedAt} />
          </span>
        </span>
      ),
    },
    {
      key: "watches",
      header: "Watches",
      cell: (alert) => <WatchedLink watched={watchedBy(alert, known)} />,
    },
    { key: "condition", header: "Fires at", cell: conditionText },
    {
      key: "evaluated",
      header: "Evaluated until",
      nowrap: true,
      cell: ({ evaluatedUntil }) => <RelativeTime at={evaluatedUntil ?? undefined} none="never" />,
    },
    {
      key: "webhook",
      header: "Webhook",
      cell: ({ channel }) => known.webhooks?.find(({ id }) => id === channel.webhookId)?.name ?? "–",
    },
    {
      key: "menu",
      header: "",
      align: "end",
      cell: (alert) => <AlertMenu alert={alert} />,
    },
  ];
}
