/** What follows from a choice: names, the format, and that columns of other data are proposed anew. */
import { type Form, listedBy, ownsTables } from "./form.ts";

/** A name that needs no quotes in SQL. */
export function tableName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, "_")
    .replaceAll(/^_+|_+$/g, "");
}

/** What the data would be called: their topic, stream, database, folder or file, or what is usually sent. */
function nameOf(form: Form): string {
  const { topics, values } = form;
  const listed = listedBy(form);
  if (listed === "tables") return values.database?.trim() ?? "";
  if (listed === "nothing") return ownsTables(form) ? "telemetry" : "events";
  if (listed !== "objects") return topics[0] ?? "";
  const path = (values.url ?? values.path ?? "").replace(/^\w+:\/\/[^/]*/, "").replace(/[?#].*$/, "");
  const parts = path.split("/").map((part) => part.replace(/\.[\w.]+$/, ""));
  return parts.findLast((part) => part !== "" && !/[*?{]/.test(part)) ?? "";
}

const formats: readonly (readonly [ending: RegExp, format: string])[] = [
  [/\.parquet\b/i, "Parquet"],
  [/\.(json|jsonl|ndjson)\b/i, "JSONEachRow"],
  [/\.csv\b/i, "CSVWithNames"],
  [/\.(tsv|tab)\b/i, "TabSeparatedWithNames"],
  [/\.avro\b/i, "Avro"],
  [/\.orc\b/i, "ORC"],
  [/\.(arrow|feather)\b/i, "Arrow"],
];

/** The format that an object's name tells. */
export function formatOf(name: string): string | undefined {
  return formats.find(([ending]) => ending.test(name))?.[1];
}

/** The data of a form: other data have other columns. */
function dataOf({ kind, topics, values }: Form): string {
  const { url, path, format, azureContainerName } = values;
  return JSON.stringify([kind, topics, url, path, azureContainerName, format]);
}

/** The form after a change. What the user has named stays; a proposed name is that of the new data. */
export function followed(before: Form, change: Partial<Form>): Form {
  let after: Form = { ...before, ...change };
  const [was, is] = [nameOf(before), nameOf(after)];
  if (before.name === "" || before.name === was) after = { ...after, name: change.name ?? is };
  if (before.table === "" || before.table === tableName(was)) {
    after = { ...after, table: change.table ?? tableName(is) };
  }
  const place = ({ values }: Form) => values.url ?? values.path ?? "";
  const format = listedBy(after) === "objects" && place(after) !== place(before) ? formatOf(place(after)) : undefined;
  if (format !== undefined) after = { ...after, values: { ...after.values, format } };
  if (change.columns === undefined && after.tried === "" && dataOf(after) !== dataOf(before)) {
    after = { ...after, columns: [], sortingKey: [] };
  }
  return after;
}
