/** The mark of an error in the text. It moves with the text around it, and its message is its tooltip. */
import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

export type ErrorMark = {
  /** Characters from the beginning of the text. */
  readonly position: number;
  readonly message: string;
};

const setMark = StateEffect.define<DecorationSet>();

/** The extension that shows marks; every editor needs it. */
export const errorMarks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, { changes, effects }) => effects.find((effect) => effect.is(setMark))?.value ?? marks.map(changes),
  provide: (field) => EditorView.decorations.from(field),
});

/** Underlines the word at the position, or the last character; undefined removes the mark. */
export function markError(view: EditorView, mark: ErrorMark | undefined): void {
  const span = mark === undefined ? undefined : spanOf(view, mark);
  if (mark === undefined || span === undefined || span.from === span.to) {
    view.dispatch({ effects: setMark.of(Decoration.none) });
    return;
  }
  const attributes = { "data-tip": mark.message };
  const range = Decoration.mark({ class: "cm-error", attributes }).range(span.from, span.to);
  view.dispatch({ effects: setMark.of(Decoration.set([range])) });
}

function spanOf(view: EditorView, { position }: ErrorMark): { from: number; to: number } {
  const text = view.state.doc.toString();
  const from = Math.min(Math.max(0, position), Math.max(0, text.length - 1));
  const word = /^(?:\w+|[^\w\s])/.exec(text.slice(from))?.[0] ?? "";
  return { from, to: Math.min(text.length, from + Math.max(1, word.length)) };
}
