import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import { refetch } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { type Dashboard, type DashboardPanel, dashboardOf } from "../../charts/dashboard.ts";
import { RangePicker } from "../../charts/range-picker.tsx";
import { boundsOf } from "../../charts/time-range.ts";
import { problemOf, variablesOf } from "../../charts/variables.ts";
import { Button } from "../../parts/button.tsx";
import { UnsavedDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import { PanelGrid } from "./panel-grid.tsx";
import { PanelTools } from "./panel-tools.tsx";
import { VariableEditor } from "./variable-bar.tsx";

type Saved = OperationResult<"getSavedObject">;

type EditDashboardProps = {
  /** What is edited, as it was read. */
  readonly begun: Saved;
  /** What the server has by now. */
  readonly newest: Saved;
  readonly onEnd: () => void;
};

/** Names, places and sizes of panels, by mouse, buttons and keys; nothing is kept before Save. */
export function EditDashboard({ begun: { id, name, version, content }, newest, onEnd }: EditDashboardProps) {
  const [begun] = useState<Dashboard>(() => dashboardOf(content));
  const [draft, setDraft] = useState(begun);
  const [title, setTitle] = useState(name);
  const [problem, setProblem] = useState<string>();
  const { attempt, busy, error } = useAttempt();
  const [said, setSaid] = useState("");
  const [now] = useState(serverNow);
  const bounds = boundsOf(draft, now);
  const change = (panels: readonly DashboardPanel[]) => setDraft({ ...draft, panels });
  const isOvertaken = newest.version > version;
  const [chartedId] = draft.panels.flatMap((panel) => ("chart" in panel ? [panel.chart.sourceId] : []));
  const save = async () => {
    const refusal = problemOf(draft.variables);
    setProblem(refusal);
    if (refusal !== undefined) return;
    const content = { ...draft, variables: variablesOf(draft.variables) };
    await attempt(async () => {
      try {
        await call("updateSavedObject", {
          params: { savedObjectId: id },
          body: { version: newest.version, name: title, content },
        });
      } finally {
        // Where somebody was faster, the page says who, and saves over it if it is told to again.
        await refetch("getSavedObject", "listSavedObjects");
      }
      onEnd();
    });
  };
  const told = problem ?? (error?.status === 409 ? undefined : error?.message);
  return (
    <Page
      title={`Edit ${name}`}
      actions={
        <>
          <RangePicker range={draft} onChange={(range) => setDraft({ ...draft, ...range })} />
          <Button small onClick={onEnd}>
            Discard
          </Button>
          <Button
            small
            look={isOvertaken ? "danger" : "primary"}
            needs="developer"
            busy={busy}
            onClick={() => void save()}
          >
            {isOvertaken ? "Save over it" : "Save"}
          </Button>
        </>
      }
    >
      <UnsavedDialog isChanged={JSON.stringify(draft) !== JSON.stringify(begun) || title !== name} />
      {isOvertaken && <Overtaken newest={newest} />}
      {told !== undefined && <Note tone="bad">{told}</Note>}
      <TextField label="Name" value={title} onChange={setTitle} />
      <VariableEditor
        {...{ bounds, chartedId }}
        variables={draft.variables}
        onChange={(variables) => setDraft({ ...draft, variables })}
      />
      <p className="muted">
        Drag a chart by its grip, and its corner to another size. In its tools, <kbd>←</kbd> and <kbd>→</kbd> move it;
        the arrow keys at its corner change its size.
      </p>
      <span className="visually-hidden" role="status">
        {said}
      </span>
      {bounds !== undefined && (
        <PanelGrid
          panels={draft.panels}
          range={draft}
          bounds={bounds}
          onRange={() => undefined}
          variables={draft.variables}
          values={{}}
          onPanel={(panel) => change(draft.panels.map((one) => (one.id === panel.id ? panel : one)))}
          tools={(panel) => <PanelTools panel={panel} panels={draft.panels} onChange={change} onSay={setSaid} />}
        />
      )}
    </Page>
  );
}

/** While the dashboard is edited here, it was changed elsewhere. */
function Overtaken({ newest: { id, name, updatedBy, updatedAt } }: { readonly newest: Saved }) {
  return (
    <Note tone="bad">
      {updatedBy || "Somebody"} has changed this dashboard <RelativeTime at={updatedAt} />, while you edit it.{" "}
      <Link to="/dashboards/$dashboardId" params={{ dashboardId: id }} target="_blank">
        Open {name} as it is now
      </Link>{" "}
      in another tab. “Save over it” replaces it by yours, and “Discard” leaves yours.
    </Note>
  );
}
