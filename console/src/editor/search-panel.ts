/** Find and replace. It is loaded when its keys are first pressed. */
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { StateEffect } from "@codemirror/state";
import { type EditorView, keymap } from "@codemirror/view";

/** Adds the search to an editor that does not have it yet, and opens its panel. */
export function addSearch(view: EditorView): void {
  view.dispatch({ effects: StateEffect.appendConfig.of([search(), keymap.of(searchKeymap)]) });
  openSearchPanel(view);
}
