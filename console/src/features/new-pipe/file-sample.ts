/** What a file of the user's own computer, or a text, has in it, as the engine of a service reads its beginning. */
import { open } from "../../api/client.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { formatOf, tableName } from "./following.ts";
import type { Column, Form } from "./form.ts";

export type FileSample = {
  readonly file: string;
  readonly format: string;
  /** A name for pipe and table. */
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
};

/** The parameter of a statement holds as much text. */
const textBytes = 200_000;
/** A file that is read as a whole, as a parameter in base 64. */
const binaryBytes = 190_000;
/** Formats of which an example can be typed. */
export const textFormats: readonly string[] = ["JSONEachRow", "CSVWithNames", "TabSeparatedWithNames"];
/** Times as pipes read them, and types in one line. */
const settings = "SETTINGS date_time_input_format = 'best_effort', print_pretty_type_names = 0";

/**
 * The format is told by the name of the file, unless it is given. Throws an error that says what is wrong with the
 * file. The engine runs both statements, and keeps nothing of it.
 */
export async function sampleOf(serviceId: string, file: File, format = formatOf(file.name)): Promise<FileSample> {
  if (format === undefined) {
    throw new Error(
      `The name ${file.name} does not tell a format. It ends in .json, .csv, .tsv, .parquet and the like.`,
    );
  }
  const isText = textFormats.includes(format);
  if (!isText && file.size > binaryBytes)
    throw new Error(`${file.name} is too large to try: a file of the format ${format} may have 190 kB.`);
  const data = isText ? await beginningOf(file) : base64Of(new Uint8Array(await file.arrayBuffer()));
  const table = `format(${format}, ${isText ? "{data:String}" : "base64Decode({data:String})"})`;
  const described = await rowsOf(serviceId, `DESCRIBE TABLE ${table} ${settings}`, data);
  const columns = described.map(({ name, type }) => ({
    field: String(name),
    name: String(name),
    type: plain(String(type)),
  }));
  const names = columns.map(({ name }) => quotedName(name)).join(", ");
  const rows = await rowsOf(serviceId, `SELECT ${names} FROM ${table} LIMIT 20 ${settings}`, data);
  return { file: file.name, format, name: tableName(file.name.replace(/\.[\w.]+$/, "")), columns, rows };
}

/** The table that gets its rows, ordered by the first time. */
export function proposalOf({ columns }: FileSample): Pick<Form, "columns" | "sortingKey"> {
  const time = columns.find(({ type }) => type.startsWith("Date"));
  return { columns, sortingKey: time === undefined ? [] : [time.name] };
}

/** Whole lines only. */
async function beginningOf(file: File): Promise<string> {
  const text = await file.slice(0, textBytes).text();
  return file.size <= textBytes ? text : text.slice(0, text.lastIndexOf("\n") + 1);
}

function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}

async function rowsOf(serviceId: string, query: string, data: string): Promise<Record<string, unknown>[]> {
  const body = { query, params: { data }, format: "JSONEachRow" };
  const text = await (await open("runQuery", { params: { serviceId }, body })).text();
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
}

/** Types are inferred as nullable; a table is better off without. */
function plain(type: string): string {
  return /^Nullable\((.*)\)$/.exec(type)?.[1] ?? type;
}
