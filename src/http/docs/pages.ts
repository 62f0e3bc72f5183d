/** The documentation that the server itself serves: operations, guides, search. Each page is rendered once. */
import { AppError } from "../../lib/errors.ts";
import { type Guide, guidePage, readGuides } from "./guides.ts";
import { escapeHtml, layout } from "./layout.ts";
import { llmsFull, llmsIndex } from "./llms.ts";
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
