/** What a pipe may be sent: the formats, how their bodies are divided into rows, and the media types that name them. */
import type { PushConfig, PushFormat } from "../declaration/kind.ts";
import { pushVirtualColumns } from "../message.ts";
import { escapedTsv, quotedCsv } from "../named-rows.ts";
import type { RowForm } from "./rows.ts";

type Division =
  /** `json`: lines, or a document that is turned into lines. */
  | { readonly kind: "json"; readonly form: RowForm }
  /** Rows after a line of names. */
  | { readonly kind: "named"; readonly form: RowForm }
  /** A body is one piece, of which only the engine knows the rows. */
  | { readonly kind: "whole" };

/** Media types that say nothing of the format: what clients send by themselves. */
const anyType = ["application/octet-stream", "application/x-www-form-urlencoded", "text/plain"];

const types: Readonly<Record<PushFormat, readonly string[]>> = {
  JSONEachRow: [
    "application/json",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/jsonlines",
  ],
  CSVWithNames: ["text/csv"],
  TabSeparatedWithNames: ["text/tab-separated-values", "text/csv"],
  Parquet: ["application/vnd.apache.parquet", "application/x-parquet"],
  Avro: ["application/avro", "application/vnd.apache.avro", "avro/binary"],
  ORC: ["application/x-orc"],
  Arrow: ["application/vnd.apache.arrow.file"],
  otlp: ["application/x-protobuf", "application/json"],
};

export function formatOf({ format = "JSONEachRow" }: Pick<PushConfig, "format">): PushFormat {
  return format;
}

export function divisionOf(config: Pick<PushConfig, "format" | "delimiter">): Division {
  switch (formatOf(config)) {
    case "JSONEachRow":
      return { kind: "json", form: { kind: "lines" } };
    case "CSVWithNames":
      return { kind: "named", form: { kind: "quoted", delimiter: (config.delimiter ?? ",").charCodeAt(0) } };
    case "TabSeparatedWithNames":
      return { kind: "named", form: { kind: "escaped" } };
    default:
      return { kind: "whole" };
  }
}

/** A sentence when the media type names another format than the pipe's. */
export function typeProblem(config: Pick<PushConfig, "format">, mediaType: string | undefined): string | undefined {
  const format = formatOf(config);
  if (format === "otlp")
    return "This pipe accepts OpenTelemetry: send it to /v1/traces, /v1/metrics or /v1/logs below.";
  if (mediaType === undefined || anyType.includes(mediaType)) return undefined;
  if (types[format].includes(mediaType) || (format === "JSONEachRow" && mediaType.endsWith("+json"))) return undefined;
  return `This pipe accepts ${format}: send it as ${types[format][0]}, and not as ${mediaType}.`;
}

/** A sentence when a line of names has none of the fields that a pipe reads: each row would be zeros. */
export function headProblem(
  config: Pick<PushConfig, "format" | "delimiter">,
  fields: readonly string[],
  head: string,
): string | undefined {
  const own = fields.filter((field) => !Object.hasOwn(pushVirtualColumns, field));
  if (own.length === 0) return undefined;
  const isCsv = formatOf(config) === "CSVWithNames";
  const delimiter = isCsv ? (config.delimiter ?? ",") : "\t";
  const names = head.split(delimiter).map((name) => name.trim().replace(/^"(.*)"$/, "$1"));
  // A name may hold the delimiter, or what its format escapes.
  const line = `${delimiter}${head}${delimiter}`;
  const written = (field: string) => `${delimiter}${isCsv ? quotedCsv(field) : escapedTsv(field)}${delimiter}`;
  if (own.some((field) => names.includes(field) || line.includes(written(field)))) return undefined;
  const [shown, wanted] = [head, own.join(", ")].map((text) => text.slice(0, 200)) as [string, string];
  return `The first line, ${JSON.stringify(shown)}, names none of the fields that the pipe reads: ${wanted}.`;
}
