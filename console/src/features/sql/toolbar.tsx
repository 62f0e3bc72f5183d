import { Download, Link2, ListTree, Play, Save, Square, WandSparkles } from "lucide-react";
import type { EngineWords } from "../../editor/words.ts";
import type { RunState, Statement } from "../../grid/query-run.ts";
import { Store, useStore } from "../../lib/store.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { late } from "../../parts/late.tsx";
import css from "./sql.module.css";
import type { Runs } from "./use-runs.ts";

const ExportMenu = late(async () => (await import("./export-menu.tsx")).ExportMenu);

const noRun = new Store<RunState | undefined>(undefined);

type ToolbarProps = {
  readonly runs: Runs;
  /** Why nothing can run. */
  readonly refusal: string | undefined;
  readonly isAsleep: boolean;
  readonly words: EngineWords;
  readonly exported: Statement | undefined;
  readonly onRun: () => void;
  readonly onRunPart: () => void;
  readonly onExplain: () => void;
  readonly onFormat: () => void;
  readonly onSave: () => void;
  readonly onShare: () => void;
};

export function Toolbar(props: ToolbarProps) {
  const { runs, refusal, isAsleep, words, exported } = props;
  const state = useStore<RunState | undefined>(runs.run?.state ?? noRun);
  return (
    <div className={`row ${css.toolbar}`} role="toolbar" aria-label="Statement">
      {state?.status === "running" ? (
        <Button small look="danger" icon={Square} onClick={() => runs.cancel()}>
          Cancel
        </Button>
      ) : (
        <Button small look="primary" icon={Play} refusal={refusal} onClick={props.onRun}>
          {isAsleep ? "Run and wake" : "Run"}
        </Button>
      )}
      <Button small refusal={refusal} onClick={props.onRunPart} title="Ctrl Shift Enter">
        Run at cursor
      </Button>
      <span className="grow" />
      <IconButton
        small
        label="Plan of the statement (EXPLAIN)"
        icon={ListTree}
        refusal={refusal}
        onClick={props.onExplain}
      />
      <IconButton small label="Format the statement" icon={WandSparkles} refusal={refusal} onClick={props.onFormat} />
      <IconButton small label="Copy a link to the statement" icon={Link2} onClick={props.onShare} />
      <Button small icon={Save} needs="developer" onClick={props.onSave}>
        Save
      </Button>
      {exported === undefined ? (
        <Button small icon={Download} refusal="Run a statement first.">
          Export
        </Button>
      ) : (
        <ExportMenu statement={exported} words={words} />
      )}
    </div>
  );
}
