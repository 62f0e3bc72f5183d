import { Link } from "@tanstack/react-router";
import { Plus, Webhook as WebhookIcon } from "lucide-react";
import { Fragment, useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { type Alert, alertName } from "./alert.ts";
import { AlertTabs } from "./alert-tabs.tsx";
import type { Webhook } from "./watched.ts";
import { WebhookDialog } from "./webhook-dialog.tsx";
import { webhookKinds } from "./webhook-form.ts";
import { WebhookMenu } from "./webhook-menu.tsx";

/** Where changes of alerts are told. */
export function WebhooksPage() {
  const query = useOperation("listWebhooks", { query: {} });
  const alerts = useOperation("listAlerts", { query: {} });
  const [isNew, setNew] = useState(false);
  const create = (
    <Button look="primary" needs="developer" icon={Plus} onClick={() => setNew(true)}>
      New webhook
    </Button>
  );
  return (
    <Page title="Webhooks" actions={create}>
      <AlertTabs />
      <Answer query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon={WebhookIcon} title="No webhooks yet" actions={create}>
              A webhook is a URL that alerts call when they begin to fire, and when they end.
            </EmptyState>
          ) : (
            <Panel flush>
              <Table label="Webhooks" columns={columnsOf(alerts.data?.data)} rows={data} rowKey={({ id }) => id} />
            </Panel>
          )
        }
      </Answer>
      {isNew && <WebhookDialog onClose={() => setNew(false)} />}
    </Page>
  );
}

function columnsOf(alerts: readonly Alert[] | undefined): Column<Webhook>[] {
  const usersOf = (webhook: Webhook) => alerts?.filter(({ channel }) => channel.webhookId === webhook.id);
  return [
    {
      key: "name",
      header: "Name",
      cell: ({ name, description }) => (
        <span className="stack">
          <span>{name}</span>
          {description !== undefined && <span className="muted">{description}</span>}
        </span>
      ),
    },
    { key: "form", header: "Form", nowrap: true, cell: ({ service }) => webhookKinds[service] },
    { key: "alerts", header: "Alerts", cell: (webhook) => <Users alerts={usersOf(webhook)} /> },
    {
      key: "changed",
      header: "Changed",
      nowrap: true,
      cell: ({ updatedAt }) => <RelativeTime at={updatedAt} />,
    },
    {
      key: "menu",
      header: "",
      align: "end",
      cell: (webhook) => <WebhookMenu webhook={webhook} users={usersOf(webhook) ?? []} />,
    },
  ];
}

function Users({ alerts }: { readonly alerts: readonly Alert[] | undefined }) {
  if (alerts === undefined) return "–";
  if (alerts.length === 0) return "none";
  return alerts.map((alert, at) => (
    <Fragment key={alert.id}>
      {at > 0 && ", "}
      <Link to="/alerts/$alertId" params={{ alertId: alert.id }}>
        {alertName(alert)}
      </Link>
    </Fragment>
  ));
}
