/** The mark of an error in the text. */
import { setDiagnostics } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";

export type ErrorMark = {
  /** Characters from the beginning of the text. */
  readonly position: number;
  readonly message: string;
};

/** Underlines the word at the position, or the last character; undefined removes the mark. */
export function markError(view: EditorView, mark: ErrorMark | undefined): void {
  view.dispatch(
    setDiagnostics(
      view.state,
      mark === undefined ? [] : [{ ...spanOf(view, mark), severity: "error", message: mark.message }],
    ),
  );
}

function spanOf(view: EditorView, { position }: ErrorMark): { from: number; to: number } {
  const text = view.state.doc.toString();
  const from = Math.min(Math.max(0, position), Math.max(0, text.length - 1));
  const word = /^(?:\w+|[^\w\s])/.exec(text.slice(from))?.[0] ?? "";
  return { from, to: Math.min(text.length, from + Math.max(1, word.length)) };
}
