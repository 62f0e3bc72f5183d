/** The readable page of the API: plain HTML made from the operation tables, without scripts or outside resources. */
import { z } from "zod";
import type { Operation } from "../api/operation.ts";

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
h1{font-size:1.6rem}h2{margin-top:2.5rem;border-bottom:1px solid #d5dae0}details{border:1px solid #d5dae0;border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}
summary{cursor:pointer;display:flex;gap:.8rem;align-items:baseline;flex-wrap:wrap}code,pre{font:13px/1.5 ui-monospace,monospace}
pre{background:#f5f7f9;padding:.8rem;overflow:auto;border-radius:6px}.m{font-weight:700;min-width:4rem}.s{color:#57606a}
@media(prefers-color-scheme:dark){body{background:#14171a;color:#dde3ea}pre{background:#1e2329}details,h2{border-color:#333b44}.s{color:#9aa5b1}}`;

export function docsPage(operations: Record<string, Operation>): string {
  const tags = [...new Set(Object.values(operations).map((operation) => operation.tag))];
  const sections = tags.map((tag) => {
    const rows = Object.entries(operations).filter(([, operation]) => operation.tag === tag);
    return `<h2>${escapeHtml(tag)}</h2>${rows.map(([id, operation]) => entry(id, operation)).join("")}`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Millrace API</title><style>${style}</style></head><body><h1>Millrace API</h1>
<p>Interface A (<code>/v1</code>) takes HTTP Basic with key id and secret; interface B (<code>/api/v2</code>) takes a bearer token.
The machine-readable document is <a href="/openapi.json">/openapi.json</a>.</p>${sections.join("")}</body></html>`;
}

function entry(id: string, operation: Operation): string {
  const body = operation.body === undefined ? "" : `<p>Request body</p>${schemaBlock(operation.body, "input")}`;
  const result = operation.result === undefined ? "" : `<p>Result</p>${schemaBlock(operation.result, "output")}`;
  return `<details id="${id}"><summary><span class="m">${operation.method}</span><code>${escapeHtml(operation.path)}</code>
<span class="s">${escapeHtml(operation.summary)}</span></summary><p class="s">Least role: <code>${operation.access}</code></p>${body}${result}</details>`;
}

function schemaBlock(schema: z.ZodType, io: "input" | "output"): string {
  const { $schema: _, ...document } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return `<pre>${escapeHtml(JSON.stringify(document, null, 2))}</pre>`;
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replaceAll(/[&<>"]/g, (char) => entities[char] as string);
}
