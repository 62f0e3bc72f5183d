/** The output formats that `-o` selects. */
import { usageError } from "../errors.ts";

export const outputFormats = ["table", "wide", "json", "yaml", "ndjson", "csv", "name", "id"] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Throws a usage error for an unknown format. */
export function outputFormat(name: string): OutputFormat {
  const found = outputFormats.find((format) => format === name);
  if (found === undefined)
    throw usageError(`-o ${name}: not an output format`, `Use one of ${outputFormats.join(", ")}.`);
  return found;
}

export function isForPeople(format: OutputFormat): boolean {
  return format === "table" || format === "wide";
}

/** The document of a value in a machine format. `name` and `id` need objects with these members. */
export async function machineText(value: unknown, format: OutputFormat): Promise<string> {
  if (format === "json") return `${JSON.stringify(value, null, 2)}\n`;
  if (format === "yaml") {
    const { stringify } = await import("yaml");
    return stringify(value ?? null, { lineWidth: 0 });
  }
  if (format === "csv") {
    const { csvText } = await import("./csv.ts");
    return csvText((Array.isArray(value) ? value : [value ?? {}]) as readonly Readonly<Record<string, unknown>>[]);
  }
  const items = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return items.map((item) => `${format === "ndjson" ? JSON.stringify(item) : memberOf(item, format)}\n`).join("");
}

function memberOf(item: unknown, format: OutputFormat): string {
  const members = format === "name" ? ["name", "backupName", "id"] : ["id", "name"];
  // A created object comes with its secret: {service, password}.
  const records = [item, ...Object.values(item ?? {})].filter((one) => typeof one === "object" && one !== null);
  const found = records
    .flatMap((record) => members.map((member) => (record as Readonly<Record<string, unknown>>)[member]))
    .find((text) => typeof text === "string" && text !== "");
  return String(found ?? "-");
}

/** Whether the format shows nothing but the name or the id. */
export function isNameOnly(format: OutputFormat): boolean {
  return format === "name" || format === "id";
}
