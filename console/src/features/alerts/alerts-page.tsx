import { Link } from "@tanstack/react-router";
import { Bell, Plus } from "lucide-react";
import { useOperation } from "../../api/queries.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import { type Alert, alertName, conditionText, sortedAlerts } from "./alert.ts";
import { AlertMenu } from "./alert-menu.tsx";
import { AlertStateBadge } from "./alert-state.tsx";
import { AlertTabs } from "./alert-tabs.tsx";
import css from "./alerts.module.css";
import { type Known, useKnown, watchedBy } from "./watched.ts";
import { WatchedLink } from "./watched-link.tsx";

/** All alerts of the organization, those that fire first. */
export function AlertsPage() {
  const query = useOperation("listAlerts", { query: {} });
  const known = useKnown();
  return (
    <Page
      title="Alerts"
      actions={
        <ButtonLink to="/alerts/new" look="primary" icon={<Plus aria-hidden />}>
          New alert
        </ButtonLink>
      }
    >
      <AlertTabs />
      <Answer query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <NoAlert />
          ) : (
            <Panel flush title={summary(data)}>
              <Table label="Alerts" columns={columnsOf(known)} rows={sortedAlerts(data)} rowKey={({ id }) => id} />
            </Panel>
          )
        }
      </Answer>
    </Page>
  );
}

function summary(alerts: readonly Alert[]): string {
  const firing = alerts.filter(({ state }) => state === "ALERT").length;
  const all = alerts.length === 1 ? "1 alert" : `${alerts.length} alerts`;
  return firing === 0 ? all : `${all}, ${firing} firing`;
}

function NoAlert() {
  return (
    <EmptyState
      icon={<Bell aria-hidden />}
      title="No alerts yet"
      actions={<ButtonLink to="/explore">Explore</ButtonLink>}
    >
      An alert calls a webhook when the rows of a filter, or the values of a chart, pass a threshold. Make the chart in
      Explore and choose “Create alert” in its menu; charts of dashboards have the same menu.
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
        <span className={css.stack}>
          <AlertStateBadge state={state} />
          <span className={css.muted}>
            <RelativeTime at={stateChangedAt} />
          </span>
        </span>
      ),
    },
    {
      key: "watches",
      header: "Watches",
      wide: true,
      cell: (alert) => <WatchedLink watched={watchedBy(alert, known)} />,
    },
    { key: "condition", header: "Fires at", cell: conditionText },
    {
      key: "evaluated",
      header: "Evaluated until",
      nowrap: true,
      wide: true,
      cell: ({ evaluatedUntil }) => <RelativeTime at={evaluatedUntil ?? undefined} none="never" />,
    },
    {
      key: "webhook",
      header: "Webhook",
      wide: true,
      cell: ({ channel }) => known.webhooks?.find(({ id }) => id === channel.webhookId)?.name ?? "–",
    },
    {
      key: "menu",
      header: <span className="visually-hidden">Actions</span>,
      align: "end",
      cell: (alert) => <AlertMenu alert={alert} />,
    },
  ];
}
