/** The documentation as text for language models: an index and everything in one file (https://llmstxt.org). */
import { requestExamples } from "../../api/examples.ts";
import { roleOf } from "../../api/operation.ts";
import type { Guide } from "./guides.ts";
import type { Operations } from "./operations.ts";

const introduction = `# Millrace

> A self-hosted data service manager: managed ClickHouse services, exactly-once ingestion pipes from object storage, Kafka,
> Kinesis and Postgres, verified backups and a chart API, on one machine.

The management API (\`/v1\`) takes HTTP Basic with key id and secret, the observability API (\`/api/v2\`) an access token as
bearer token. \`/openapi.json\` describes every operation.`;

/** Links to every guide and operation. */
export function llmsIndex(guides: readonly Guide[], operations: Operations): string {
  const guideLines = guides.map(({ name, title }) => `- [${title}](/docs/guides/${name})`);
  const operationLines = Object.entries(operations).map(
    ([id, { method, path, summary }]) => `- [${id}](/docs/operations/${id}): ${method} ${path}. ${summary}`,
  );
  return [introduction, "## Guides", guideLines.join("\n"), "## Operations", operationLines.join("\n"), ""].join(
    "\n\n",
  );
}

/** Every guide whole, and every operation with its examples. */
export function llmsFull(guides: readonly Guide[], operations: Operations): string {
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
