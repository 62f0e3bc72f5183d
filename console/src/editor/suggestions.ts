/** A list of completions below the cursor that never takes a key which its user meant for the text. */
import {
  acceptCompletion,
  autocompletion,
  type CompletionSource,
  closeCompletion,
  completionStatus,
  moveCompletionSelection,
  selectedCompletionIndex,
} from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import { type EditorView, keymap } from "@codemirror/view";

/** Enter takes a completion only after an arrow key has chosen one. Tab takes the chosen one, or else the first. */
export function suggestions(source: CompletionSource): Extension {
  return [
    autocompletion({
      override: [source],
      selectOnOpen: false,
      interactionDelay: 0,
      maxRenderedOptions: 60,
      icons: false,
    }),
    keymap.of([{ key: "Tab", run: takeFirst }]),
  ];
}

/** A command that runs the text; the list of completions would cover the result. */
export function closing(action: () => void): (view: EditorView) => true {
  return (view) => {
    closeCompletion(view);
    action();
    return true;
  };
}

function takeFirst(view: EditorView): boolean {
  if (completionStatus(view.state) !== "active") return false;
  if (selectedCompletionIndex(view.state) === null) moveCompletionSelection(true)(view);
  return acceptCompletion(view);
}
