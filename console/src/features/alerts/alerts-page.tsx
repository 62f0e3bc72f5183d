import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Ban, Bell, CircleCheck, Ellipsis, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { newStateAlertAddress } from "../../lib/addresses.ts";
import { counted } from "../../lib/format.ts";
import { ButtonLink, IconButton } from "../../parts/button.tsx";
import { NoMatch, useFilters } from "../../parts/filters.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import { type Alert, alertName, alertStates, conditionText, sortedAlerts } from "./alert.ts";
import { DeleteAlertDialog, useAlertToggle } from "./alert-actions.tsx";
import { AlertStateBadge, AlertTabs, stateWord, WatchedLink } from "./alert-parts.tsx";
import { matchingAlerts } from "./list-search.ts";
import { type Known, useKnown, watchedBy } from "./watched.ts";

const route = getRouteApi("/alerts");

/** All alerts of the organization, those that fire first. */
export function AlertsPage() {
  const query = useOperation("listAlerts", { query: {} });
  return (
    <Page
      title="Alerts"
      actions={
        <ButtonLink to="/alerts/new" look="primary" needs="developer" icon={Plus}>
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
  const { search, change, field } = useFilters(route);
  const shown = sortedAlerts(matchingAlerts(alerts, search));
  return (
    <>
      <div className="row">
        <SearchInput label="Find alerts by name" {...field("q")} />
        <InlineSelect
          label="State"
          {...field("state")}
          all="All states"
          options={alertStates.map((value) => ({ value, label: stateWord(value) }))}
        />
      </div>
      {shown.length === 0 ? (
        <NoMatch what="alert" onAll={() => change({ q: "", state: "" })} />
      ) : (
        <Panel flush title={summary(shown)}>
          <Table label="Alerts" columns={columnsOf(known)} rows={shown} />
        </Panel>
      )}
    </>
  );
}

function summary(alerts: readonly Alert[]): string {
  const firing = alerts.filter(({ state }) => state === "ALERT").length;
  const all = counted(alerts.length, "alert");
  return firing === 0 ? all : `${all}, ${firing} firing`;
}

function NoAlert() {
  return (
    <EmptyState
      icon={Bell}
      title="No alerts yet"
      actions={
        <ButtonLink {...newStateAlertAddress("pipe_attention")} needs="developer">
          Alert me of pipes
        </ButtonLink>
      }
    >
      An alert calls a webhook when a pipe, a service or a backup needs attention, or when the rows of a filter or the
      values of a chart pass a threshold. Charts are made in Explore: choose “Create alert” in their menu.
    </EmptyState>
  );
}

function columnsOf(known: Known): Column<Alert>[] {
  return [
    {
      header: "Name",
      cell: (alert) => (
        <Link to="/alerts/$alertId" params={{ alertId: alert.id }} className={mainLinkClass}>
          {alertName(alert)}
        </Link>
      ),
    },
    {
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
    { header: "Watches", cell: (alert) => <WatchedLink watched={watchedBy(alert, known)} /> },
    { header: "Fires at", cell: conditionText },
    {
      header: "Evaluated until",
      nowrap: true,
      cell: ({ evaluatedUntil }) => <RelativeTime at={evaluatedUntil ?? undefined} none="never" />,
    },
    {
      header: "Webhook",
      cell: ({ channel }) => known.webhooks?.find(({ id }) => id === channel.webhookId)?.name ?? "–",
    },
    { header: "", align: "end", cell: (alert) => <AlertMenu alert={alert} /> },
  ];
}

/** What can be done with an alert of the list. */
function AlertMenu({ alert }: { readonly alert: Alert }) {
  const [deletes, setDeletes] = useState(false);
  const navigate = useNavigate();
  const { toggle } = useAlertToggle(alert);
  const edit = () => void navigate({ to: "/alerts/$alertId/edit", params: { alertId: alert.id } });
  return (
    <>
      <Menu trigger={<IconButton small label={`Actions of ${alertName(alert)}`} icon={Ellipsis} />}>
        <MenuItem needs="developer" icon={alert.enabled ? Ban : CircleCheck} onSelect={toggle}>
          {alert.enabled ? "Disable" : "Enable"}
        </MenuItem>
        <MenuItem needs="developer" icon={Pencil} onSelect={edit}>
          Edit
        </MenuItem>
        <MenuSeparator />
        <MenuItem danger needs="developer" icon={Trash2} onSelect={() => setDeletes(true)}>
          Delete
        </MenuItem>
      </Menu>
      {deletes && <DeleteAlertDialog alert={alert} onClose={() => setDeletes(false)} />}
    </>
  );
}
