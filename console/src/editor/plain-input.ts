/** Typing over a selection. */
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/**
 * The browser keeps the look of text that is typed over by an inline style, which the policy of the page refuses and
 * reports. Such text is put into the document here, before the browser does it.
 */
export const plainInput: Extension = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { from, to, empty } = view.state.selection.main;
    if (event.inputType !== "insertText" || event.data === null || empty || event.isComposing) return false;
    const text = event.data;
    event.preventDefault();
    const insert = () =>
      view.state.update({ ...view.state.replaceSelection(text), userEvent: "input.type", scrollIntoView: true });
    const isTaken = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, text, insert));
    if (!isTaken) view.dispatch(insert());
    return true;
  },
});
