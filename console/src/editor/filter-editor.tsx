/** One line for a filter, in the filter language or as an SQL expression. */
import type { CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import { quotedName } from "../lib/quoted-name.ts";
import css from "./filter-editor.module.css";
import { look } from "./look.ts";
import { type ErrorMark, errorMarks, markError } from "./marks.ts";
import { plainInput } from "./plain-input.ts";
import { closing, suggestions } from "./suggestions.ts";

export type FilterField = { readonly name: string; readonly type: string };

export type FilterEditorHandle = { focus(): void };

export type FilterEditorProps = {
  readonly label: string;
  readonly value: string;
  readonly language: "lucene" | "sql";
  readonly fields: readonly FilterField[];
  readonly error: ErrorMark | undefined;
  readonly placeholder?: string;
  readonly handle?: Ref<FilterEditorHandle>;
  readonly onChange: (text: string) => void;
  /** Enter. */
  readonly onSubmit?: () => void;
};

/** Names of fields are completed; the place of an error is underlined, and its message stands below. */
export function FilterEditor(props: FilterEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const { value, error } = props;

  useEffect(() => {
    const made = new EditorView({
      parent: box.current as HTMLDivElement,
      state: EditorState.create({ doc: latest.current.value, extensions: extensionsOf(latest) }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (editor === undefined || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: equal marks are one mark.
  useEffect(() => {
    if (view.current !== undefined) markError(view.current, error);
  }, [error?.position, error?.message]);

  useImperativeHandle(props.handle, () => ({ focus: () => view.current?.focus() }), []);
  return (
    <div className={css.filter}>
      <div ref={box} className={css.line} data-invalid={error !== undefined || undefined} />
      {error !== undefined && (
        <div className={css.error} role="alert">
          {error.message}
        </div>
      )}
    </div>
  );
}

function extensionsOf(latest: { readonly current: FilterEditorProps }) {
  // Enter never adds a line.
  const submit = Prec.high(keymap.of([{ key: "Enter", run: closing(() => latest.current.onSubmit?.()) }]));
  const oneLine = EditorState.transactionFilter.of((transaction) => (transaction.newDoc.lines > 1 ? [] : transaction));
  return [
    suggestions((context) => completeField(context, latest.current)),
    submit,
    keymap.of([...historyKeymap, ...defaultKeymap]),
    history(),
    plainInput,
    oneLine,
    errorMarks,
    // Its frame scrolls: that the text can have the focus must be said.
    EditorView.contentAttributes.of({ "aria-label": latest.current.label, tabindex: "0" }),
    placeholder(latest.current.placeholder ?? ""),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current.onChange(update.state.doc.toString());
    }),
    look(),
  ];
}

function completeField(context: CompletionContext, { fields, language }: FilterEditorProps) {
  const word = context.matchBefore(/[\w.]*$/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const options = fields.map(({ name, type }) => ({
    label: name,
    detail: type,
    apply: language === "lucene" ? `${name}:` : /^[\w.[\]']+$/.test(name) ? name : quotedName(name),
  }));
  return { from: word.from, options, validFor: /^[\w.]*$/ };
}
