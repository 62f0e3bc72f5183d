/** The layout of all pages of the documentation. They run no scripts and load nothing from other origins. */

const style = `:root{color-scheme:light dark;--line:light-dark(#d5dae0,#333b44);--soft:light-dark(#57606a,#9aa5b1);--code:light-dark(#f5f7f9,#1e2329);--link:light-dark(#0550ae,#7cb7ff)}
body{font:16px/1.55 system-ui,sans-serif;margin:0;background:light-dark(#fff,#14171a);color:light-dark(#1b1f24,#dde3ea)}
.page{max-width:62rem;margin:0 auto;padding:0 1rem 4rem}header{border-bottom:1px solid var(--line)}
header .page{display:flex;gap:1rem;align-items:center;flex-wrap:wrap;padding:.7rem 1rem}header form{margin-left:auto;display:flex;gap:.4rem}
input,button{font:inherit;padding:.25rem .6rem;border:1px solid var(--line);border-radius:6px;background:transparent;color:inherit}
a{color:var(--link)}h1{font-size:1.7rem;line-height:1.25}h2{margin-top:2.2rem;font-size:1.25rem}h3{font-size:1.05rem}
code,pre{font:.88em/1.5 ui-monospace,monospace}pre{background:var(--code);padding:.8rem;overflow:auto;border-radius:6px}
code{background:var(--code);padding:.05rem .25rem;border-radius:4px}pre code{padding:0}.soft{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;margin:.6rem 0}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--line)}
p code{overflow-wrap:anywhere}th:first-child{width:34%}th:nth-child(2){width:30%}th{color:var(--soft);font-weight:600}.method{font-weight:700;display:inline-block;min-width:4.5rem}ul.plain{list-style:none;padding:0}ul.plain li{padding:.2rem 0}`;

/** `content` is markup. */
export function layout(title: string, content: string, query = ""): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body>
<header><div class="page"><a href="/docs">Millrace documentation</a> <a href="/openapi.json">openapi.json</a>
<form action="/docs/search" role="search"><input type="search" name="q" aria-label="Search" value="${escapeHtml(query)}"><button>Search</button></form></div></header>
<main class="page"><h1>${escapeHtml(title)}</h1>${content}</main></body></html>`;
}

export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replaceAll(/[&<>"]/g, (char) => entities[char] as string);
}

/** Backticks become code; everything else is text. */
export function inlineCode(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}
