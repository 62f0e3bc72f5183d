import { type FormEvent, type KeyboardEvent, useState } from "react";
import { memberAt, type SourceField } from "../../../../src/sources/contract/fields.ts";
import { call } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { refetch } from "../../api/queries.ts";
import { inLabels } from "../../lib/source-words.ts";
import { Button } from "../../parts/button.tsx";
import { UnsavedDialog } from "../../parts/dialog.tsx";
import { TextArea, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { Select } from "../../parts/select.tsx";
import { SourceInput } from "../../parts/source-input.tsx";
import { toast } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import {
  type Difference,
  type Draft,
  differencesOf,
  draftOf,
  fieldAt,
  isShown,
  labelOf,
  mutableMembers,
  newLoginFields,
  requestsOf,
  scalingFields,
  settingFields,
  settingsOf,
} from "./draft.ts";
import type { PipeKind } from "./list-search.ts";
import { pipeReads } from "./pipe-actions.tsx";
import css from "./pipes.module.css";
import { kindOf, type PipeDetails } from "./use-pipe.ts";

type FormProps = { readonly pipe: PipeDetails; readonly onClose: () => void };

/** Edits what can change. The differences are shown before they are saved; a change of somebody else is not lost. */
export function ConfigurationForm({ pipe, onClose }: FormProps) {
  // The form edits the version that it began with, or has saved a part of, whatever happens meanwhile.
  const [begin, setBegin] = useState(pipe);
  const [draft, setDraft] = useState(() => draftOf(pipe));
  const { attempt, busy, error } = useAttempt();
  const differences = differencesOf(begin, draft);
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (differences.length === 0) return;
    void attempt(async () => {
      await saveDraft(begin, differences, setBegin);
      toast(`${begin.name} is changed.`);
      onClose();
    });
  };
  const nothing = differences.length === 0 ? "Nothing is changed." : undefined;
  return (
    <form onSubmit={save} onKeyDown={submitByKeys} noValidate style={{ display: "contents" }}>
      <UnsavedDialog isChanged={differences.length > 0} />
      <Inputs
        pipe={begin}
        draft={draft}
        error={error}
        onChange={(path, text) => setDraft({ ...draft, [path]: text })}
      />
      <Panel title="What changes">
        <Differences kind={kindOf(begin)} differences={differences} />
        {error !== undefined && <Refusal error={error} />}
        <div className="row">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" needs="developer" busy={busy} refusal={nothing}>
            Save
          </Button>
          <span className="muted">
            <kbd>Ctrl Enter</kbd> saves from everywhere
          </span>
        </div>
      </Panel>
    </form>
  );
}

/** Enter alone is a new line in some inputs, and opens the choices of others. */
function submitByKeys({ key, ctrlKey, metaKey, currentTarget }: KeyboardEvent<HTMLFormElement>): void {
  if (key === "Enter" && (ctrlKey || metaKey)) currentTarget.requestSubmit();
}

/** Sends the version that was edited: the server refuses if it is no longer the present one. */
async function saveDraft(
  pipe: PipeDetails,
  differences: readonly Difference[],
  onPart: (saved: PipeDetails) => void,
): Promise<void> {
  const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
  const { patch, scaling } = requestsOf(pipe, differences);
  try {
    let ifMatch = pipe.version;
    if (patch !== undefined) {
      await call("updatePipe", { params, body: patch, ifMatch } as never);
      const saved = await call("getPipe", { params });
      ifMatch = saved.version;
      onPart(saved);
    }
    if (scaling !== undefined) await call("updatePipeScaling", { params, body: scaling, ifMatch } as never);
  } finally {
    await refetch(...pipeReads);
  }
}

function Refusal({ error }: { readonly error: ApiError }) {
  if (error.status !== 412) return <Note tone="bad">{inLabels(error.message)}</Note>;
  return (
    <Note tone="warn">
      Somebody else has changed this pipe since you began. Nothing of yours is saved: cancel to see the present values,
      then edit them.
    </Note>
  );
}

type InputsProps = {
  readonly pipe: PipeDetails;
  readonly draft: Draft;
  readonly error: ApiError | undefined;
  readonly onChange: (path: string, text: string) => void;
};

function Inputs({ pipe, draft, error, onChange }: InputsProps) {
  const kind = kindOf(pipe);
  const at = (path: string) => ({
    value: draft[path] ?? "",
    onChange: (text: string) => onChange(path, text),
    error: error?.issueAt(path.replace(/^source\./, `source.${kind}.`)),
  });
  return (
    <>
      <Panel title="Name and source">
        <TextField label="Name" {...at("name")} autoFocus />
        <div className="cells pair">
          {sourceInputsOf(pipe, draft).map((field) => (
            <SourceInput key={field.path} field={field} {...at(`source.${field.path}`)} />
          ))}
        </div>
      </Panel>
      {draft.columns !== undefined && (
        <Panel title="Columns">
          <TextArea label="A line for each column: field = column Type" mono {...at("columns")} />
        </Panel>
      )}
      <Panel title="Settings">
        <div className="cells pair">
          {settingsOf(kind).map((name) => (
            <SettingInput key={name} name={name} {...at(`settings.${name}`)} />
          ))}
        </div>
      </Panel>
      <Panel title="Scaling">
        <div className="cells pair">
          {Object.entries(scalingFields).map(([name, label]) => (
            <TextField key={name} label={label} inputMode="decimal" {...at(`scaling.${name}`)} />
          ))}
        </div>
      </Panel>
    </>
  );
}

/** What can change of the source, in the words of the wizard; not what other choices make pointless. */
function sourceInputsOf(pipe: PipeDetails, draft: Draft): SourceField[] {
  const kind = kindOf(pipe);
  const source: Readonly<Record<string, unknown>> = pipe.source[kind] ?? {};
  const own = mutableMembers(pipe).flatMap((path): readonly SourceField[] => {
    const field = fieldAt(kind, `source.${path}`);
    const value = memberAt(source, path);
    if (!isShown(pipe, path, draft)) return [];
    const lines = typeof value === "object" && value !== null ? ({ input: "area" } as const) : {};
    return [{ path, label: labelOf(kind, `source.${path}`), ...field, ...lines }];
  });
  return [...own, ...newLoginFields(pipe, draft)];
}

type SettingInputProps = {
  readonly name: keyof typeof settingFields;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly error: string | undefined;
};

function SettingInput({ name, ...input }: SettingInputProps) {
  const { label, unit, isSwitch } = settingFields[name];
  if (isSwitch) {
    const options = [
      { value: "", label: "Default" },
      { value: "true", label: "On" },
      { value: "false", label: "Off" },
    ];
    return <Select label={label} options={options} {...input} />;
  }
  const hint = unit === undefined ? "Empty: the default" : `${unit}; empty: the default`;
  return <TextField label={label} hint={hint} inputMode="numeric" {...input} />;
}

type DifferencesProps = { readonly kind: PipeKind; readonly differences: readonly Difference[] };

function Differences({ kind, differences }: DifferencesProps) {
  if (differences.length === 0) return <p>Nothing yet.</p>;
  return (
    <ul className={css.changes} aria-label="Changes">
      {differences.flatMap((difference) =>
        changedLines(kind, difference).map((line) => <li key={`${difference.path} ${line}`}>{line}</li>),
      )}
    </ul>
  );
}

/** The lines that go and come, where texts have several. */
function changedLines(kind: PipeKind, { path, from, to }: Difference): string[] {
  const [before, after] = [String(from ?? ""), String(to ?? "")].map((text) => text.split("\n")) as [
    string[],
    string[],
  ];
  const isSecret = fieldAt(kind, path)?.input === "secret";
  if (before.length + after.length === 2 || !(path === "columns" || fieldAt(kind, path)?.input === "tables"))
    return [`~ ${labelOf(kind, path)}: ${isSecret ? "another one" : `${shown(from)} → ${shown(to)}`}`];
  return [
    ...before.filter((line) => line !== "" && !after.includes(line)).map((line) => `- ${line}`),
    ...after.filter((line) => line !== "" && !before.includes(line)).map((line) => `+ ${line}`),
  ];
}

function shown(value: unknown): string {
  return value === null ? "default" : JSON.stringify(value);
}
