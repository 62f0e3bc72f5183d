/** The pages of operations: request, response, an example. */
import { z } from "zod";
import { requestExamples } from "../../api/examples.ts";
import { type Operation, roleOf } from "../../api/operation.ts";
import { type Field, schemaFields } from "./fields.ts";
import { escapeHtml, inlineCode } from "./layout.ts";

export type Operations = Readonly<Record<string, Operation>>;

/** One list of operations per subject. */
export function operationLists(operations: Operations): string {
  const tags = [...new Set(Object.values(operations).map(({ tag }) => tag))];
  return tags.map((tag) => `<h2>${escapeHtml(tag)}</h2>${operationList(operations, (_, o) => o.tag === tag)}`).join("");
}

export function operationList(operations: Operations, holds: (id: string, operation: Operation) => boolean): string {
  const items = Object.entries(operations)
    .filter(([id, operation]) => holds(id, operation))
    .map(
      ([id, { method, path, summary }]) => `<li id="${id}"><span class="method">${method}</span>
<a href="/docs/operations/${id}"><code>${escapeHtml(path)}</code></a> <span class="soft">${inlineCode(summary)}</span></li>`,
    );
  return `<ul class="plain">${items.join("")}</ul>`;
}

export function operationPage(id: string, operation: Operation): string {
  const { method, path, summary, access, params, query, body, result } = operation;
  return `<p>${inlineCode(summary)}.</p>
<p><span class="method">${method}</span><code>${escapeHtml(path)}</code></p>
<p class="soft">Required role: <code>${roleOf(access)}</code> or higher. Authentication: ${loginOf(path)}.</p>
<h2>Example</h2>${examples(id, operation)}
${section("In the path", Object.keys(params.shape).length > 0 ? params : undefined, "input")}
${section("In the query", query, "input")}${section("Body", body, "input")}${section("Result", result, "output")}
<p class="soft">An error contains <code>code</code>, a message and, for invalid members, <code>issues</code>:
<a href="/docs/guides/errors">all codes</a>.</p>`;
}

function loginOf(path: string): string {
  return path.startsWith("/v1/") ? "HTTP Basic with key id and secret" : "an access token as bearer token";
}

function section(title: string, schema: z.ZodType | undefined, io: "input" | "output"): string {
  if (schema === undefined) return "";
  const fields = schemaFields(z.toJSONSchema(schema, { io, unrepresentable: "any" }));
  if (fields.length === 0) return "";
  return `<h2>${title}</h2><div class="wide"><table><thead><tr><th>Member</th><th>Type</th><th>Meaning</th></tr></thead>
<tbody>${fields.map((field) => row(field, io)).join("")}</tbody></table></div>`;
}

function row({ path, type, required, default: fallback, meaning }: Field, io: "input" | "output"): string {
  const notes = [
    io === "input" && required ? "Required." : "",
    meaning === "" ? "" : `${inlineCode(meaning)}.`.replace(/([.?!])\.$/, "$1"),
    fallback === undefined ? "" : `Default: <code>${escapeHtml(fallback)}</code>.`,
  ];
  const breakable = escapeHtml(path).replaceAll(".", ".<wbr>");
  // In a request null means "not given", for every optional member.
  const shown = io === "input" && !required ? type.replace(/ or null$/, "") : type;
  return `<tr><td><code>${breakable}</code></td><td>${escapeHtml(shown)}</td><td>${notes.filter(Boolean).join(" ")}</td></tr>`;
}

function examples(id: string, operation: Operation): string {
  const given = requestExamples[id] ?? [];
  if (given.length === 0) return `<pre><code>${escapeHtml(curl(operation, undefined))}</code></pre>`;
  return given
    .map(
      ({ title, body }) => `<h3>${escapeHtml(title)}</h3><pre><code>${escapeHtml(curl(operation, body))}</code></pre>`,
    )
    .join("");
}

/** Variables as the README sets them. */
function curl({ method, path }: Operation, body: unknown): string {
  const managed = path.startsWith("/v1/");
  const url = path
    .replace("/v1/organizations/{organizationId}", "$API")
    .replaceAll(/\{(\w+?)(?:Id)?\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const login = managed ? '-u "$KEY"' : '-H "Authorization: Bearer $TOKEN"';
  const verb = method === "GET" || (method === "POST" && body !== undefined) ? "" : ` -X ${method}`;
  const data = body === undefined ? "" : ` \\\n  -H 'Content-Type: application/json' -d '${compactJson(body)}'`;
  return `curl ${login}${verb} "${url.startsWith("$API") ? url : `$URL${url}`}"${data}`;
}

/** Like indented JSON, but a value that fits on a line stays on one. */
function compactJson(value: unknown, indent = ""): string {
  const flat = JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ");
  if (flat.length + indent.length <= 88 || value === null || typeof value !== "object") return flat;
  const deeper = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((element) => `${deeper}${compactJson(element, deeper)}`)
    : Object.entries(value).map(([name, member]) => `${deeper}${JSON.stringify(name)}: ${compactJson(member, deeper)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}
