/** The guides of `docs/`, as pages. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { marked } from "marked";
import { packageRoot } from "../../lib/program.ts";

const folder = pathToFileURL(join(packageRoot, "docs/"));

export type Guide = { readonly name: string; readonly title: string; readonly text: string };

/** Every guide, sorted by name. */
export function readGuides(): Guide[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".md"))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, folder), "utf8");
      const name = file.slice(0, -".md".length);
      return { name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text };
    });
}

/** Markup of the guide without its title. Names of other guides become links. */
export function guidePage({ text }: Guide, names: readonly string[]): string {
  const html = marked.parse(text.replace(/^# .+$/m, ""), { async: false });
  return html
    .replaceAll(/<code>docs\/([\w-]+)\.md<\/code>/g, (all, name: string) =>
      names.includes(name) ? `<a href="/docs/guides/${name}"><code>docs/${name}.md</code></a>` : all,
    )
    .replaceAll(/href="([\w-]+)\.md(#[\w-]*)?"/g, (_, name: string, part = "") => `href="/docs/guides/${name}${part}"`)
    .replaceAll("<table>", '<div class="wide"><table>')
    .replaceAll("</table>", "</table></div>");
}
