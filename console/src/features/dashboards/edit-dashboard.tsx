import { ArrowLeft, ArrowRight, Copy, Maximize2, Minimize2, Trash2 } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { call } from "../../api/client.ts";
import { asApiError } from "../../api/error.ts";
import { refetch } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { type Dashboard, type DashboardPanel, moved, resized } from "../../charts/dashboard.ts";
import { RangePicker } from "../../charts/range-picker.tsx";
import { boundsOf } from "../../charts/time-range.ts";
import { variablesOf } from "../../charts/variables.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { inputClass, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import css from "./dashboards.module.css";
import { PanelGrid } from "./panel-grid.tsx";
import { VariableEditor } from "./variable-editor.tsx";

type EditDashboardProps = {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly dashboard: Dashboard;
  readonly onEnd: () => void;
};

/** Names, places and widths of panels, by buttons and by keys; nothing is kept before Save. */
export function EditDashboard({ id, name, version, dashboard, onEnd }: EditDashboardProps) {
  const [draft, setDraft] = useState(dashboard);
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
      {problem !== undefined && <Note tone="bad">{problem}</Note>}
      <TextField label="Name" value={title} onChange={setTitle} />
      <VariableEditor variables={draft.variables} onChange={(variables) => setDraft({ ...draft, variables })} />
      <p className="muted">
        In the tools of a chart, <kbd>←</kbd> and <kbd>→</kbd> move it, <kbd>+</kbd> and <kbd>-</kbd> change its width.
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
          tools={(panel) => <PanelTools panel={panel} panels={draft.panels} onChange={change} onSay={setSaid} />}
        />
      )}
    </Page>
  );
}

type PanelToolsProps = {
  readonly panel: DashboardPanel;
  readonly panels: readonly DashboardPanel[];
  readonly onChange: (panels: readonly DashboardPanel[]) => void;
  readonly onSay: (text: string) => void;
};

function PanelTools({ panel, panels, onChange, onSay }: PanelToolsProps) {
  const { id, title, width } = panel;
  const replace = (next: Partial<DashboardPanel>) =>
    onChange(panels.map((one) => (one.id === id ? ({ ...one, ...next } as DashboardPanel) : one)));
  const move = (steps: number) => {
    const next = moved(panels, id, steps);
    onChange(next);
    onSay(`${title} is at place ${next.findIndex((one) => one.id === id) + 1} of ${next.length}.`);
  };
  const resize = (steps: number) => {
    replace({ width: resized(width, steps) });
    onSay(`${title} is ${resized(width, steps)} of 12 columns wide.`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps = stepsOf(event.key);
    if (steps === undefined || (event.target as Element).tagName === "INPUT") return;
    event.preventDefault();
    if (steps.places !== 0) move(steps.places);
    else resize(steps.widths);
  };
  return (
    <div className={css.tools} role="toolbar" aria-label={`Tools of ${title}`} onKeyDown={onKeyDown}>
      <input
        className={inputClass}
        aria-label={`Title of ${title}`}
        value={title}
        onChange={(event) => replace({ title: event.target.value })}
      />
      <IconButton small label={`Move ${title} before`} icon={ArrowLeft} onClick={() => move(-1)} />
      <IconButton small label={`Move ${title} behind`} icon={ArrowRight} onClick={() => move(1)} />
      <IconButton small label={`Make ${title} narrower`} icon={Minimize2} onClick={() => resize(-1)} />
      <IconButton small label={`Make ${title} wider`} icon={Maximize2} onClick={() => resize(1)} />
      <IconButton
        small
        label={`Duplicate ${title}`}
        icon={Copy}
        onClick={() =>
          onChange(panels.flatMap((one) => (one.id === id ? [one, { ...one, id: crypto.randomUUID() }] : [one])))
        }
      />
      <IconButton
        small
        label={`Remove ${title}`}
        icon={Trash2}
        onClick={() => onChange(panels.filter((one) => one.id !== id))}
      />
    </div>
  );
}

/** What a key does to a panel; undefined for other keys. */
function stepsOf(key: string): { readonly places: number; readonly widths: number } | undefined {
  const places = key === "ArrowLeft" ? -1 : key === "ArrowRight" ? 1 : 0;
  const widths = key === "-" ? -1 : key === "+" ? 1 : 0;
  return places === 0 && widths === 0 ? undefined : { places, widths };
}
