/** What an editor must know of a statement: where quotes and comments are, and where statements end. */

export type Span = { readonly from: number; readonly to: number };

export const lineComment = /(?:--|#[ !])[^\n]*/;

/** How what begins with a quote or a comment mark goes on to its end. */
export const endsOf = {
  "'": /(?:[^'\\]|\\[\s\S]|'')*'/,
  '"': /(?:[^"\\]|\\[\s\S]|"")*"/,
  "`": /(?:[^`\\]|\\[\s\S]|``)*`/,
  "/*": /[\s\S]*?\*\//,
} as const;
export type OpaqueStart = keyof typeof endsOf;

/** Quoted text and comments; an end that is missing is the end of the text. */
const opaque = new RegExp(
  [
    lineComment.source,
    ...Object.entries(endsOf).map(([start, end]) => `${start.replace("*", "\\*")}(?:${end.source}|[\\s\\S]*$)`),
  ].join("|"),
  "g",
);

/** The text with quoted text and comments as spaces; positions stay. */
export function codeOf(text: string): string {
  return text.replaceAll(opaque, (found) => found.replaceAll(/[^\n]/g, " "));
}

/** Each statement without its semicolon, surrounding white space and leading comments; without empty ones. */
export function statementsIn(text: string): Span[] {
  const code = codeOf(text);
  const spans: Span[] = [];
  let start = 0;
  for (let end = code.indexOf(";"); ; end = code.indexOf(";", start)) {
    const stop = end === -1 ? code.length : end;
    const raw = text.slice(start, stop);
    const hasCode =
      code.slice(start, stop).trim() !== "" || /['"`]/.test(raw.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, ""));
    if (hasCode) spans.push(trimmed(text, start, stop));
    if (end === -1) return spans;
    start = end + 1;
  }
}

function trimmed(text: string, start: number, stop: number): Span {
  const raw = text.slice(start, stop);
  const from = start + (/^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/.exec(raw)?.[0].length ?? 0);
  return { from, to: Math.max(from, start + raw.trimEnd().length) };
}

/** The statement that the position is in or directly behind, else the next one, else the last one. */
export function statementAt(text: string, position: number): Span | undefined {
  const spans = statementsIn(text);
  return spans.find(({ to }) => position <= to + 1) ?? spans.at(-1);
}

export type Parameter = { readonly name: string; readonly type: string };

/** Parameters `{name:Type}`, each once, in the order of the text. `{name:Identifier}` counts too. */
export function parametersIn(text: string): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const [, name, type] of codeOf(text).matchAll(/\{\s*([A-Za-z_]\w*)\s*:\s*([A-Za-z][^{}]*?)\s*\}/g)) {
    if (!found.has(name as string)) found.set(name as string, { name: name as string, type: type as string });
  }
  return [...found.values()];
}
