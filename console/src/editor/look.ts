/** How editors look: the tokens of the console alone, so that they follow its theme. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { cspNonce } from "../lib/nonce.ts";

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--series-4)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--color-info)" },
  { tag: tags.standard(tags.name), color: "var(--color-accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--color-ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--color-warn)" },
  { tag: tags.comment, color: "var(--color-text-muted)", fontStyle: "italic" },
  { tag: tags.operator, color: "var(--color-text-muted)" },
]);

const raised = {
  border: "1px solid var(--color-border)",
  borderRadius: "var(--radius-md)",
  background: "var(--color-raised)",
  color: "var(--color-text)",
  boxShadow: "var(--shadow-raised)",
  fontSize: "var(--text-xs)",
};

const theme = EditorView.theme({
  "&": { color: "var(--color-text)", background: "transparent", fontSize: "var(--text-sm)", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--color-text)" },
  ".cm-cursor": { borderLeftColor: "var(--color-text)" },
  ".cm-gutters": {
    background: "var(--color-surface)",
    border: "0",
    color: "var(--color-text-muted)",
    paddingRight: "4px",
  },
  ".cm-activeLine": { background: "color-mix(in srgb, var(--color-accent) 6%, transparent)" },
  ".cm-activeLineGutter": { background: "transparent", color: "var(--color-text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--color-accent-soft)",
  },
  ".cm-matchingBracket": { background: "var(--color-accent-soft)", outline: "1px solid var(--color-accent)" },
  ".cm-placeholder": { color: "var(--color-text-muted)" },
  ".cm-error": { textDecoration: "underline wavy var(--color-bad)" },
  ".cm-tooltip": raised,
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--font-mono)", maxHeight: "260px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px", lineHeight: "1.5" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: "var(--color-accent)",
    color: "var(--color-accent-text)",
  },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.75", marginLeft: "12px" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionIcon": { display: "none" },
  ".cm-tooltip.cm-completionInfo": { ...raised, padding: "8px 10px", maxWidth: "420px" },
  ".cm-documentation": { maxWidth: "460px", padding: "2px", whiteSpace: "pre-wrap" },
  ".cm-tooltip-hover .cm-documentation": { padding: "8px 10px", maxHeight: "280px", overflow: "auto" },
  ".cm-documentation p": { margin: "6px 0 0" },
  ".cm-panels": { background: "var(--color-sunken)", color: "var(--color-text)" },
});

/** Style elements need the nonce of the page. */
export function look(): Extension {
  const nonce = cspNonce();
  return [theme, syntaxHighlighting(colors), nonce === "" ? [] : EditorView.cspNonce.of(nonce)];
}
