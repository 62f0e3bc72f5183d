import { useQuery } from "@tanstack/react-query";
import { PanelLeft, Plus, X } from "lucide-react";
import { type CSSProperties, useEffect, useMemo, useRef, useState } from "react";
import { call, type OperationResult, open } from "../../api/client.ts";
import { asApiError } from "../../api/error.ts";
import { useMay } from "../../api/role.ts";
import { type Parameter, parametersIn, statementsIn } from "../../editor/lexer.ts";
import { type Part, SqlEditor, type SqlEditorHandle } from "../../editor/sql-editor.tsx";
import { noWords } from "../../editor/words.ts";
import type { RunState } from "../../grid/query-run.ts";
import { useStore } from "../../lib/store.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { inputClass } from "../../parts/field.tsx";
import { late } from "../../parts/late.tsx";
import { Splitter, useKeptSize } from "../../parts/splitter.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import { keepDrafts, titleOf } from "./drafts.ts";
import { activeTab, changeTab, closeTab, openTab, type QueryTab, selectTab, tabsStore } from "./query-tabs.ts";
import { loadResult, ResultPanel } from "./result-panel.tsx";
import { SidePanel, useTables } from "./side-panel.tsx";
import css from "./sql.module.css";
import { Toolbar } from "./toolbar.tsx";
import { type Runs, useRuns } from "./use-runs.ts";

const SaveDialog = late(async () => (await import("./save-dialog.tsx")).SaveDialog);

type Service = OperationResult<"listServices">[number];

/** Tables, editor and result for one service. */
export function Workbench({ service }: { readonly service: Service }) {
  const editor = useRef<SqlEditorHandle>(null);
  const [isSideOpen, setSideOpen] = useState(false);
  const [side, setSide] = useKeptSize("millrace.sql.side", 288);
  const [height, setHeight] = useKeptSize("millrace.sql.editor", 260);
  const mayKeep = useMay("developer");
  const { id: serviceId } = service;
  useEffect(() => (mayKeep ? keepDrafts(() => serviceId) : undefined), [mayKeep, serviceId]);
  const { activeId, isOpened } = useStore(tabsStore);
  const begun = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another statement
  useEffect(() => {
    // Whoever comes by the keyboard or opens a statement writes next; a telephone would cover the page with its keys.
    const isFree = document.activeElement === document.body || document.activeElement?.id === "main";
    const isNext = begun.current ? isOpened : isFree;
    begun.current = true;
    if (isNext && matchMedia("(pointer: fine)").matches) editor.current?.focus();
  }, [activeId]);
  const runs = useRuns(mayKeep, (state, from, tabId) => {
    if (tabId === activeTab(tabsStore.get()).id) markResult(editor.current, state, from);
  });
  return (
    <div
      className={css.bench}
      data-side={isSideOpen}
      style={{ "--side": `${side}px`, "--editor": `${height}px` } as CSSProperties}
    >
      <div className={css.sideToggle}>
        <Button small icon={PanelLeft} aria-expanded={isSideOpen} onClick={() => setSideOpen(!isSideOpen)}>
          Tables and queries
        </Button>
      </div>
      <SidePanel serviceId={serviceId} onInsert={(text) => editor.current?.insert(text)} />
      <Splitter label="Width of tables" between="columns" size={side} least={180} most={720} onSize={setSide} />
      <div className={css.main}>
        <TabStrip />
        <EditorPanel {...{ service, runs, editor }} />
        <Splitter label="Height of the editor" between="rows" size={height} least={120} most={900} onSize={setHeight} />
        <ResultPanel runs={runs} />
      </div>
    </div>
  );
}

function markResult(editor: SqlEditorHandle | null, { error }: RunState, from: number): void {
  const mark = error?.position === undefined ? undefined : { position: from + error.position, message: error.message };
  editor?.mark(mark);
}

type EditorPanelProps = {
  readonly service: Service;
  readonly runs: Runs;
  readonly editor: { current: SqlEditorHandle | null };
};

function EditorPanel({ service, runs, editor }: EditorPanelProps) {
  const tab = activeTab(useStore(tabsStore));
  const [isSaving, setSaving] = useState(false);
  const known = useKnown(service.id);
  const parameters = useMemo(() => parametersIn(tab.text), [tab.text]);
  const whole = useMemo(() => partsOf(tab.text), [tab.text]);
  const params = valuesOf(parameters, tab.params);
  const refusal = refusalOf(service, tab, parameters);
  const start = (parts: readonly Part[]) => {
    if (refusal !== undefined) return toast(refusal, "warn");
    editor.current?.mark(undefined);
    editor.current?.closeList();
    void loadResult().catch(() => undefined);
    runs.start(service.id, parts, params);
  };
  const part = () => editor.current?.part() ?? whole.at(-1);
  const runPart = () => start([part()].filter((one) => one !== undefined));
  const explain = () => {
    const one = part();
    if (one !== undefined)
      start([{ text: `EXPLAIN indexes = 1 ${one.text.replace(/^\s*explain\s+/i, "")}`, from: one.from }]);
  };
  const last = whole.at(-1);
  return (
    <div className={css.editorPanel}>
      <Toolbar
        {...{ runs, refusal, words: known.words }}
        isAsleep={service.state === "idle"}
        exported={
          last === undefined || refusal !== undefined ? undefined : { serviceId: service.id, query: last.text, params }
        }
        onRun={() => start(whole)}
        onRunPart={runPart}
        onExplain={explain}
        onFormat={() => void format(service.id, tab.text, editor.current)}
        onSave={() => setSaving(true)}
        onShare={() => void import("./share.ts").then(({ share }) => share(service.id, tab)).catch(toastError)}
      />
      <div className={css.editor}>
        <SqlEditor
          key={tab.id}
          handle={editor}
          label="Statement"
          initial={tab.text}
          known={known}
          onChange={(text) => changeTab(tab.id, { text })}
          onRun={() => start(whole)}
          onRunPart={runPart}
          onCancel={runs.cancel}
        />
      </div>
      <ParameterBar
        parameters={parameters}
        values={tab.params}
        onChange={(values) => changeTab(tab.id, { params: values })}
      />
      {isSaving && <SaveDialog tab={tab} serviceId={service.id} onClose={() => setSaving(false)} />}
    </div>
  );
}

/** What the editor completes and explains. The engine's words are a megabyte: they are read once. */
function useKnown(serviceId: string) {
  const tables = useTables(serviceId).data?.tables;
  const words = useQuery({
    queryKey: ["getCompletions", serviceId],
    queryFn: ({ signal }) => call("getCompletions", { params: { serviceId } }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state }) => (state.data?.version === "" ? 15_000 : false),
  }).data;
  return useMemo(() => {
    const isKnown = words !== undefined && words.version !== "";
    return { words: isKnown ? words : noWords, tables: tables ?? [] };
  }, [words, tables]);
}

function partsOf(text: string): Part[] {
  return statementsIn(text).map(({ from, to }) => ({ text: text.slice(from, to), from }));
}

function valuesOf(parameters: readonly Parameter[], values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(parameters.map(({ name }) => [name, values[name] ?? ""]));
}

function refusalOf(
  { state }: Service,
  { text, params }: QueryTab,
  parameters: readonly Parameter[],
): string | undefined {
  if (state === "failed") return "The service has failed. Start it first.";
  if (state === "stopped" || state === "stopping") return "The service is stopped. Start it first.";
  if (text.trim() === "") return "There is no statement to run.";
  const missing = parameters.find(({ name, type }) => (params[name] ?? "") === "" && !/String/.test(type));
  return missing === undefined ? undefined : `The parameter ${missing.name} has no value.`;
}

/** The engine itself formats; that wakes nothing. */
async function format(serviceId: string, text: string, editor: SqlEditorHandle | null): Promise<void> {
  try {
    const made: string[] = [];
    for (const part of partsOf(text)) {
      const body = {
        query: "SELECT formatQuery({query:String})",
        params: { query: part.text },
        format: "TSVRaw",
        wake: "never" as const,
      };
      made.push((await (await open("runQuery", { params: { serviceId }, body })).text()).trimEnd());
    }
    if (made.length > 0) editor?.replace(`${made.join(";\n\n")}${made.length > 1 ? ";" : ""}`);
  } catch (error) {
    const { code } = asApiError(error);
    if (code === "SERVICE_ASLEEP") toast("The engine formats statements, and it does not run now.", "warn");
    else toastError(error);
  }
}

type ParameterBarProps = {
  readonly parameters: readonly Parameter[];
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (values: Readonly<Record<string, string>>) => void;
};

/** An input for each `{name:Type}` of the text. */
function ParameterBar({ parameters, values, onChange }: ParameterBarProps) {
  if (parameters.length === 0) return null;
  return (
    <fieldset className={`row ${css.parameters}`}>
      <legend className="visually-hidden">Parameters</legend>
      {parameters.map(({ name, type }) => (
        <label key={name} className={css.parameter}>
          <span>{name}</span>
          <input
            className={inputClass}
            value={values[name] ?? ""}
            placeholder={type}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => onChange({ ...values, [name]: event.target.value })}
          />
        </label>
      ))}
    </fieldset>
  );
}

/** What was typed stays as a draft; where there is none, the browser asks. */
function close(tab: QueryTab): void {
  const hasText = tab.text.trim() !== "";
  if (hasText && tab.draft === undefined && tab.saved === undefined) {
    if (!confirm(`Close ${titleOf(tab)}? Its text is kept nowhere.`)) return;
  } else if (hasText) toast(`${titleOf(tab)} is closed. Its text stays in Saved.`, "info");
  closeTab(tab.id);
}

/** The open statements. They belong to this tab of the browser. */
function TabStrip() {
  const state = useStore(tabsStore);
  const active = activeTab(state);
  return (
    <nav className={css.strip} aria-label="Statements">
      <ul className={css.stripList}>
        {state.tabs.map((tab) => (
          <li key={tab.id} className={css.stripItem} data-active={tab === active || undefined}>
            <button
              type="button"
              className={`plain ${css.stripName}`}
              aria-current={tab === active ? "true" : undefined}
              onClick={() => selectTab(tab.id)}
            >
              <span className="cut">{titleOf(tab)}</span>
            </button>
            <IconButton small label={`Close ${titleOf(tab)}`} icon={X} onClick={() => close(tab)} />
          </li>
        ))}
      </ul>
      <IconButton small label="New statement" icon={Plus} onClick={() => openTab({})} />
    </nav>
  );
}
