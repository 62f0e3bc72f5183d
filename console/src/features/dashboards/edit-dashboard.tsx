import { useState } from "react";
import { call } from "../../api/client.ts";
import { asApiError } from "../../api/error.ts";
import { refetch } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import type { Dashboard, DashboardPanel } from "../../charts/dashboard.ts";
import { RangePicker } from "../../charts/range-picker.tsx";
import { boundsOf } from "../../charts/time-range.ts";
import { variablesOf } from "../../charts/variables.ts";
import { Button } from "../../parts/button.tsx";
import { UnsavedDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import { PanelGrid } from "./panel-grid.tsx";
import { PanelTools } from "./panel-tools.tsx";
import { VariableEditor } from "./variable-editor.tsx";

type EditDashboardProps = {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly dashboard: Dashboard;
  readonly onEnd: () => void;
};

/** Names, places and sizes of panels, by mouse, buttons and keys; nothing is kept before Save. */
export function EditDashboard({ id, name, version, dashboard, onEnd }: EditDashboardProps) {
  const [begun] = useState(dashboard);
  const [draft, setDraft] = useState(begun);
  const [title, setTitle] = useState(name);
  const [problem, setProblem] = useState<string>();
  const [said, setSaid] = useState("");
  const [now] = useState(serverNow);
  const bounds = boundsOf(draft, now);
  const change = (panels: readonly DashboardPanel[]) => setDraft({ ...draft, panels });
  const save = async () => {
    try {
      await call("updateSavedObject", {
        params: { savedObjectId: id },
        body: { version, name: title, content: { ...draft, variables: variablesOf(draft.variables) } },
      });
      await refetch("getSavedObject", "listSavedObjects");
      onEnd();
    } catch (error) {
      setProblem(asApiError(error).message);
    }
  };
  return (
    <Page
      title={`Edit ${name}`}
      actions={
        <>
          <RangePicker range={draft} onChange={(range) => setDraft({ ...draft, ...range })} />
          <Button small onClick={onEnd}>
            Discard
          </Button>
          <Button small look="primary" needs="developer" onClick={() => void save()}>
            Save
          </Button>
        </>
      }
    >
      <UnsavedDialog isChanged={draft !== begun || title !== name} />
      {problem !== undefined && <Note tone="bad">{problem}</Note>}
      <TextField label="Name" value={title} onChange={setTitle} />
      <VariableEditor variables={draft.variables} onChange={(variables) => setDraft({ ...draft, variables })} />
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
