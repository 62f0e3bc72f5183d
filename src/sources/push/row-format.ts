/** The rows of a pipe's format: the statement, and the encoder of the messages. */
import type { RowEncoder } from "../messages/formats/encoder.ts";
import { JsonRows } from "../messages/formats/json-rows.ts";
import type { MessageFormat } from "../messages/formats/rows.ts";
import type { SourceMessage, VirtualColumns } from "../messages/message.ts";
import type { RowPlan } from "../messages/plan.ts";
import { formatOf } from "./bodies/formats.ts";
import type { PushConfig } from "./declaration/kind.ts";
import { escapedTsv, NamedRows, quotedCsv } from "./named-rows.ts";

type Config = Pick<PushConfig, "format" | "delimiter">;

/** Formats of which a body is divided into rows. `columns` are those of the messages. */
export function rowFormatOf<M extends SourceMessage>(config: Config, columns: VirtualColumns<M>): MessageFormat<M> {
  const format = formatOf(config);
  if (format === "CSVWithNames") {
    const { delimiter = "," } = config;
    const encoder = (plan: RowPlan<M>): RowEncoder<M> => {
      const settings = { ...plan.settings, format_csv_delimiter: delimiter };
      return new NamedRows({ plan: { ...plan, settings }, columns, delimiter, quote: quotedCsv });
    };
    return { format, registry: undefined, encoder };
  }
  if (format === "TabSeparatedWithNames") {
    const encoder = (plan: RowPlan<M>) => new NamedRows({ plan, columns, delimiter: "\t", quote: escapedTsv });
    return { format, registry: undefined, encoder };
  }
  return { format: "JSONEachRow", registry: undefined, encoder: (plan) => new JsonRows(plan) };
}
