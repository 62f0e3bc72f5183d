/** The documentation that the server itself serves: operations, guides, search. Each page is rendered once. */

import { requestExamples } from "../../api/examples.ts";
import { roleOf } from "../../api/operation.ts";
import { AppError } from "../../lib/errors.ts";
import { type Guide, guidePage, readGuides } from "./guides.ts";
import { escapeHtml, layout } from "./layout.ts";
import { type Operations, operationList, operationLists, operationPage } from "./operations.ts";

const maxQueryLength = 100;

export class DocsPages {
  readonly #operations: Operations;
  readonly #made = new Map<string, string>();
  #guides: readonly Guide[] | undefined;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  index(): string {
    return this.#once("", () =>
      layout(
        "Millrace",
        `<p>The management API (<code>/v1</code>) takes HTTP Basic with key id and secret; the observability API
(<code>/api/v2</code>) takes an access token as bearer token.</p>
<h2>Guides</h2>${this.#guideList(() => true)}${operationLists(this.#operations)}`,
      ),
    );
  }

  /** Throws NOT_FOUND. */
  operation(id: string): string {
    const operation = Object.hasOwn(this.#operations, id) ? this.#operations[id] : undefined;
    if (operation === undefined) throw new AppError("NOT_FOUND", "There is no such operation.");
    return this.#once(`operation ${id}`, () => layout(id, operationPage(id, operation)));
  }

  /** Throws NOT_FOUND. */
  guide(name: string): string {
    const guide = this.#allGuides().find((one) => one.name === name);
    if (guide === undefined) throw new AppError("NOT_FOUND", "There is no such guide.");
    const names = this.#allGuides().map((one) => one.name);
    return this.#once(`guide ${name}`, () => layout(guide.title, guidePage(guide, names)));
  }

  /** An index of guides and operations for language models, or all of them in one text. */
  llms(extent: "index" | "full"): string {
    const make = extent === "index" ? llmsIndex : llmsFull;
    return this.#once(`llms ${extent}`, () => make(this.#allGuides(), this.#operations));
  }

  /** Operations and guides that contain every word. */
  search(query: string): string {
    const given = query.slice(0, maxQueryLength);
    const words = given.toLowerCase().split(/\s+/).filter(Boolean);
    const holds = (text: string) => words.length > 0 && words.every((word) => text.toLowerCase().includes(word));
    const operations = operationList(this.#operations, (id) => holds(this.operation(id)));
    const guides = this.#guideList(({ title, text }) => holds(`${title} ${text}`));
    const found = guides.includes("<li>") || operations.includes("<li ");
    const content = found ? `${guides}${operations}` : `<p>No results for “${escapeHtml(given)}”.</p>`;
    return layout("Search", content, given);
  }

  #guideList(holds: (guide: Guide) => boolean): string {
    const items = this.#allGuides()
      .filter(holds)
      .map(({ name, title }) => `<li><a href="/docs/guides/${name}">${escapeHtml(title)}</a></li>`);
    return `<ul class="plain">${items.join("")}</ul>`;
  }

  #allGuides(): readonly Guide[] {
    this.#guides ??= readGuides();
    return this.#guides;
  }

  #once(key: string, make: () => string): string {
    const known = this.#made.get(key) ?? make();
    this.#made.set(key, known);
    return known;
  }
}

/** The documentation as text for language models: an index and everything in one file (https://llmstxt.org). */
const introduction = `# Millrace

> A self-hosted data service manager: managed ClickHouse services, exactly-once ingestion pipes from object storage, Kafka,
> Kinesis and Postgres, verified backups and a chart API, on one machine.

The management API (\`/v1\`) takes HTTP Basic with key id and secret, the observability API (\`/api/v2\`) an access token as
bearer token. \`/openapi.json\` describes every operation.`;

/** Links to every guide and operation. */
function llmsIndex(guides: readonly Guide[], operations: Operations): string {
  const guideLines = guides.map(({ name, title }) => `- [${title}](/docs/guides/${name})`);
  const operationLines = Object.entries(operations).map(
    ([id, { method, path, summary }]) => `- [${id}](/docs/operations/${id}): ${method} ${path}. ${summary}`,
  );
  return [introduction, "## Guides", guideLines.join("\n"), "## Operations", operationLines.join("\n"), ""].join(
    "\n\n",
  );
}

/** Every guide whole, and every operation with its examples. */
function llmsFull(guides: readonly Guide[], operations: Operations): string {
  const texts = guides.map(({ text }) => text.trim());
  const described = Object.entries(operations).map(([id, { method, path, summary, access }]) => {
    const examples = (requestExamples[id] ?? []).map(({ title, body }) => `${title}:\n\n${fenced(body)}`);
    const head = `## ${id}\n\n\`${method} ${path}\`\n\n${summary}. Required role: ${roleOf(access)} or higher.`;
    return [head, ...examples].join("\n\n");
  });
  return [introduction, ...texts, "# Operations", ...described, ""].join("\n\n");
}

function fenced(body: unknown): string {
  return `\`\`\`json\n${JSON.stringify(body, null, 2)}\n\`\`\``;
}
