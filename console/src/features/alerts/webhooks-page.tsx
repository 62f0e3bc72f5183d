import { Link } from "@tanstack/react-router";
import { CircleAlert, Ellipsis, Pencil, Plus, Trash2, Webhook as WebhookIcon } from "lucide-react";
import { Fragment, useState } from "react";
import { useChange, useOperation } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import { type Alert, alertName, lastFailure } from "./alert.ts";
import { AlertTabs } from "./alert-parts.tsx";
import type { Webhook } from "./watched.ts";
import { WebhookDialog } from "./webhook-dialog.tsx";
import { webhookKinds } from "./webhook-form.ts";

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
              <Table label="Webhooks" columns={columnsOf(alerts.data?.data)} rows={data} />
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
      header: "Name",
      cell: ({ name, description }) => (
        <span className="stack">
          <span className={mainLinkClass}>{name}</span>
          {description !== undefined && <span className="muted">{description}</span>}
        </span>
      ),
    },
    { header: "Form", nowrap: true, cell: ({ service }) => webhookKinds[service] },
    { header: "Alerts", cell: (webhook) => <Users alerts={usersOf(webhook)} /> },
    { header: "Last failure", cell: (webhook) => <LastFailure alerts={usersOf(webhook)} /> },
    { header: "Changed", nowrap: true, cell: ({ updatedAt }) => <RelativeTime at={updatedAt} /> },
    { header: "", align: "end", cell: (webhook) => <WebhookMenu webhook={webhook} users={usersOf(webhook) ?? []} /> },
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

/** The newest notification that was not delivered, as the alerts that use the webhook remember it. */
function LastFailure({ alerts }: { readonly alerts: readonly Alert[] | undefined }) {
  if (alerts === undefined) return "–";
  const failure = lastFailure(alerts);
  if (failure === undefined) return "none";
  return (
    <span className="stack">
      <Badge tone="bad" icon={CircleAlert}>
        Not delivered
      </Badge>
      <span>{failure.message}</span>
      <span className="muted">
        <RelativeTime at={failure.timestamp} />
      </span>
    </span>
  );
}

type WebhookMenuProps = { readonly webhook: Webhook; readonly users: readonly Alert[] };

/** What can be done with a webhook. One that an alert uses is not deleted. */
function WebhookMenu({ webhook, users }: WebhookMenuProps) {
  const [edits, setEdits] = useState(false);
  const [deletes, setDeletes] = useState(false);
  const remove = useChange("deleteWebhook", { changes: ["listWebhooks"] });
  const names = users.map(alertName).join(", ");
  return (
    <>
      <Menu trigger={<IconButton small label={`Actions of ${webhook.name}`} icon={Ellipsis} />}>
        <MenuItem needs="developer" icon={Pencil} onSelect={() => setEdits(true)}>
          Edit
        </MenuItem>
        <MenuSeparator />
        <MenuItem
          danger
          needs="developer"
          refusal={users.length === 0 ? undefined : `Used by ${names}.`}
          icon={Trash2}
          onSelect={() => setDeletes(true)}
        >
          Delete
        </MenuItem>
      </Menu>
      {edits && <WebhookDialog webhook={webhook} onClose={() => setEdits(false)} />}
      {deletes && (
        <ConfirmDialog
          danger
          needs="developer"
          title={`Delete ${webhook.name}?`}
          action="Delete webhook"
          onConfirm={() => remove.mutateAsync({ params: { webhookId: webhook.id }, ifMatch: webhook.version })}
          onClose={() => setDeletes(false)}
        >
          <p>Its URL, headers and parameters go with it, and nobody can read them again.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
