/** The editor for statements. */
import { closeCompletion } from "@codemirror/autocomplete";
import {
  defaultKeymap,
  history,
  historyKeymap,
  indentWithTab,
  insertNewline,
  toggleComment,
} from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import { toastError } from "../parts/toast.tsx";
import { completeSql, type Known } from "./completion.ts";
import { dialectOf } from "./dialect.ts";
import { statementAt } from "./lexer.ts";
import { look } from "./look.ts";
import { type ErrorMark, errorMarks, markError } from "./marks.ts";
import { plainInput } from "./plain-input.ts";
import { closing, suggestions } from "./suggestions.ts";

/** A part of the text that can be run. */
export type Part = { readonly text: string; readonly from: number };

export type SqlEditorHandle = {
  focus(): void;
  /** At the cursor, replacing the selection. */
  insert(text: string): void;
  /** Another text, as one step that can be undone. */
  replace(text: string): void;
  /** The selection, or else the statement at the cursor; undefined without any. */
  part(): Part | undefined;
  mark(mark: ErrorMark | undefined): void;
  /** Closes the list of completions. */
  closeList(): void;
};

export type SqlEditorProps = {
  readonly label: string;
  /** The text at the beginning; another `key` makes another editor. */
  readonly initial: string;
  readonly known: Known;
  readonly handle: Ref<SqlEditorHandle>;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
  readonly onRunPart: () => void;
  readonly onCancel: () => boolean;
};

/** Completion, documentation and highlighting by the words of the service's own engine. Esc, then Tab leaves it. */
export function SqlEditor(props: SqlEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const language = useRef(new Compartment());
  const { words } = props.known;

  useEffect(() => {
    const made = new EditorView({
      parent: box.current as HTMLDivElement,
      state: EditorState.create({ doc: latest.current.initial, extensions: extensionsOf(latest, language.current) }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: language.current.reconfigure(dialectOf(words)) });
  }, [words]);

  useImperativeHandle(props.handle, () => handleOf(() => view.current as EditorView), []);
  return <div ref={box} style={{ height: "100%", minHeight: 0 }} />;
}

function extensionsOf(latest: { readonly current: SqlEditorProps }, language: Compartment) {
  const known = () => latest.current.known;
  const run = Prec.highest(
    keymap.of([
      { key: "Mod-Enter", run: closing(() => latest.current.onRun()) },
      { key: "Mod-Shift-Enter", run: closing(() => latest.current.onRunPart()) },
      { key: "Mod-/", run: toggleComment },
    ]),
  );
  return [
    run,
    plainInput,
    lineNumbers(),
    history(),
    drawSelection(),
    bracketMatching(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    errorMarks,
    suggestions(completeSql(known)),
    hoverTooltip(async (view, at) => (await import("./hover.ts")).documentationAt(view, at, known())),
    language.of(dialectOf(known().words)),
    keymap.of(historyKeymap),
    findKey,
    keymap.of([
      { key: "Escape", run: () => latest.current.onCancel() },
      // Nothing is written that nobody typed: neither an indentation nor a closing bracket.
      { key: "Enter", run: insertNewline },
      ...defaultKeymap,
      indentWithTab,
    ]),
    // Its frame scrolls: that the text can have the focus must be said.
    EditorView.contentAttributes.of({ "aria-label": latest.current.label, tabindex: "0" }),
    placeholder("SELECT …"),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current.onChange(update.state.doc.toString());
    }),
    look(),
  ];
}

/** Until the search is there; then its own keys come first. */
const findKey = keymap.of([
  {
    key: "Mod-f",
    run: (view) => {
      void import("./search-panel.ts").then(({ addSearch }) => addSearch(view), toastError);
      return true;
    },
  },
]);

function handleOf(view: () => EditorView): SqlEditorHandle {
  return {
    focus: () => view().focus(),
    insert: (text) => {
      view().dispatch(view().state.replaceSelection(text), { scrollIntoView: true });
      view().focus();
    },
    replace: (text) => view().dispatch({ changes: { from: 0, to: view().state.doc.length, insert: text } }),
    part: () => {
      const { state } = view();
      const { from, to, empty } = state.selection.main;
      if (!empty) return { text: state.sliceDoc(from, to), from };
      const span = statementAt(state.doc.toString(), from);
      return span && { text: state.sliceDoc(span.from, span.to), from: span.from };
    },
    mark: (mark) => markError(view(), mark),
    closeList: () => void closeCompletion(view()),
  };
}
