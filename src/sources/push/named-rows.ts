/**
 * Rows of CSV or TSV whose names come from the body's first line. Rows with the same names are one group; columns that
 * the pipe adds come before them.
 */
import type { RowEncoder, RowGroup } from "../messages/formats/encoder.ts";
import type { SourceMessage, VirtualColumns } from "../messages/message.ts";
import type { RowPlan, UsedVirtual } from "../messages/plan.ts";
import type { MessageRowWriter } from "../messages/row-writer.ts";

const newline = 0x0a;

export type NamedOptions<M extends SourceMessage> = {
  readonly plan: RowPlan<M>;
  /** Contains `_head`. */
  readonly columns: VirtualColumns<M>;
  readonly delimiter: string;
  /** The format's way to quote a name. */
  readonly quote: (text: string) => string;
};

export class NamedRows<M extends SourceMessage> implements RowEncoder<M> {
  readonly plan: RowPlan<M>;
  readonly #options: NamedOptions<M>;
  readonly #groups = new Map<string, RowGroup>();

  constructor(options: NamedOptions<M>) {
    this.plan = options.plan;
    this.#options = options;
  }

  prepare(): undefined {
    return undefined;
  }

  group(message: M): RowGroup {
    const { columns, delimiter } = this.#options;
    const names = textOf(columns._head, message);
    let group = this.#groups.get(names);
    if (group === undefined) {
      const own = this.plan.virtuals.map(({ field }) => field + delimiter).join("");
      group = { key: names, head: Buffer.from(`${own}${names}\n`) };
      this.#groups.set(names, group);
    }
    return group;
  }

  write(message: M, _group: RowGroup, to: MessageRowWriter): undefined {
    let { end } = message;
    if (message.bytes[end - 1] === 0x0d) end -= 1;
    to.startRow();
    for (const virtual of this.plan.virtuals) to.bytes(Buffer.from(this.#value(virtual, message)));
    to.copy(message.bytes, message.start, end);
    to.byte(newline);
  }

  #value({ column }: UsedVirtual<M>, message: M): string {
    const { quote, delimiter } = this.#options;
    const isText = column.kind === "text";
    return (isText ? quote(textOf(column, message)) : String(column.read(message))) + delimiter;
  }
}

function textOf<M extends SourceMessage>(column: VirtualColumns<M>[string] | undefined, message: M): string {
  return column?.kind === "text" ? String(column.read(message)) : "";
}

export function quotedCsv(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

export function escapedTsv(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\t", "\\t").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
}
