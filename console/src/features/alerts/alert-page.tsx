import { useNavigate, useParams } from "@tanstack/react-router";
import { Ban, CircleCheck, Pencil, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { Facts, Page, Panel } from "../../parts/page.tsx";
import { Elapsed, RelativeTime } from "../../parts/relative-time.tsx";
import { Answer } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { type Alert, alertName, conditionText, intervalText } from "./alert.ts";
import { DeleteAlertDialog, useAlertToggle } from "./alert-actions.tsx";
import { AlertStateBadge, WatchedLink } from "./alert-parts.tsx";
import { valueNames } from "./evaluations.ts";
import { EvaluationsPanels } from "./evaluations-panels.tsx";
import { type Known, useKnown, type Watched, watchedBy } from "./watched.ts";

/** One alert: its state, what it watches, and what its evaluations found. */
export function AlertPage() {
  const { alertId } = useParams({ strict: false }) as { alertId: string };
  const query = useOperation("getAlert", { params: { alertId } });
  return <Answer query={query}>{({ data }) => <ShowAlert alert={data} />}</Answer>;
}

function ShowAlert({ alert }: { readonly alert: Alert }) {
  const known = useKnown();
  const { searches, dashboards, pipes, services } = known;
  const watched = useMemo(
    () => watchedBy(alert, { searches, dashboards, pipes, services }),
    [alert, searches, dashboards, pipes, services],
  );
  const names = useMemo(() => valueNames(alert, watched.chart), [alert, watched.chart]);
  return (
    <Page
      title={alertName(alert)}
      id={alert.id}
      badge={<AlertStateBadge state={alert.state} />}
      below={
        <span>
          for <Elapsed since={alert.stateChangedAt} />
        </span>
      }
      actions={<Actions alert={alert} />}
    >
      {alert.stateMessage !== null && <Note tone="warn">{alert.stateMessage}</Note>}
      <Panel title="Condition">
        <AlertFacts alert={alert} known={known} watched={watched} />
      </Panel>
      {alert.executionErrors.length > 0 && (
        <Panel flush title="Errors">
          <Table
            label="Errors"
            columns={errorColumns}
            rows={alert.executionErrors}
            rowKey={({ timestamp, type, message }) => `${timestamp} ${type} ${message}`}
          />
        </Panel>
      )}
      <EvaluationsPanels alert={alert} names={names} />
    </Page>
  );
}

function Actions({ alert }: { readonly alert: Alert }) {
  const [deletes, setDeletes] = useState(false);
  const navigate = useNavigate();
  const { toggle, isToggling } = useAlertToggle(alert);
  const params = { alertId: alert.id };
  return (
    <>
      <Button needs="developer" busy={isToggling} icon={alert.enabled ? Ban : CircleCheck} onClick={toggle}>
        {alert.enabled ? "Disable" : "Enable"}
      </Button>
      <Button needs="developer" icon={Pencil} onClick={() => void navigate({ to: "/alerts/$alertId/edit", params })}>
        Edit
      </Button>
      <Button look="danger" needs="developer" icon={Trash2} onClick={() => setDeletes(true)}>
        Delete
      </Button>
      {deletes && (
        <DeleteAlertDialog
          alert={alert}
          onDeleted={() => void navigate({ to: "/alerts" })}
          onClose={() => setDeletes(false)}
        />
      )}
    </>
  );
}

type AlertFactsProps = { readonly alert: Alert; readonly known: Known; readonly watched: Watched };

function AlertFacts({ alert, known, watched }: AlertFactsProps) {
  const { channel, interval, evaluatedUntil, message, note } = alert;
  return (
    <Facts
      facts={[
        ["Fires at", conditionText(alert)],
        ["Watches", <WatchedLink key="watches" watched={watched} />],
        ["Evaluated every", intervalText(interval)],
        ["Evaluated until", <RelativeTime key="until" at={evaluatedUntil ?? undefined} none="never" />],
        ["Webhook", known.webhooks?.find(({ id }) => id === channel.webhookId)?.name ?? "–"],
        ...(message === undefined ? [] : [["Text", message] as const]),
        ...(note === undefined ? [] : [["Note", note] as const]),
      ]}
    />
  );
}

type AlertError = Alert["executionErrors"][number];

const errorWords: Readonly<Record<AlertError["type"], string>> = {
  QUERY_ERROR: "Query failed",
  WEBHOOK_ERROR: "Not delivered",
  INVALID_ALERT: "Cannot be evaluated",
  UNKNOWN: "Failed",
};

const errorColumns: readonly Column<AlertError>[] = [
  { header: "Time", nowrap: true, cell: ({ timestamp }) => <RelativeTime at={timestamp} /> },
  { header: "What", nowrap: true, cell: ({ type }) => errorWords[type] },
  { header: "Reason", cell: ({ message }) => message },
];
