/** JSON messages as rows: the message's own bytes, with virtual columns inserted before its first field. */

import type { SourceMessage } from "../message.ts";
import type { RowPlan, UsedVirtual } from "../plan.ts";
import type { MessageRowWriter } from "../row-writer.ts";
import type { RowEncoder, RowGroup } from "./encoder.ts";
import { afterSpace, closesRightAway, objectEnd } from "./json-object.ts";

const newline = 0x0a;
const comma = 0x2c;

const onlyGroup: RowGroup = { key: "", head: Buffer.alloc(0) };

export class JsonRows<M extends SourceMessage> implements RowEncoder<M> {
  readonly plan: RowPlan<M>;

  constructor(plan: RowPlan<M>) {
    this.plan = plan;
  }

  prepare(): undefined {
    return undefined;
  }

  group(): RowGroup {
    return onlyGroup;
  }

  write(message: M, _group: RowGroup, to: MessageRowWriter): string | undefined {
    const { bytes } = message;
    const from = afterSpace(bytes, message.start, message.end);
    const end = objectEnd(bytes, from, message.end);
    if (end < 0) return "The message is not one complete JSON object.";
    to.startRow();
    const members = virtualMembers(this.plan, message);
    if (members === "") to.copy(bytes, from, end);
    else {
      to.latin1(`{${members}`);
      if (!closesRightAway(bytes, from)) to.byte(comma);
      to.copy(bytes, from + 1, end);
    }
    to.byte(newline);
    return undefined;
  }
}

/** Virtual columns as members of an object, as single-byte text, so that bytes that are not UTF-8 stay unchanged. */
export function virtualMembers<M extends SourceMessage>({ virtuals }: RowPlan<M>, message: M): string {
  if (virtuals.length === 0) return "";
  return virtuals.map((virtual) => member(virtual, message)).join(",");
}

function member<M extends SourceMessage>({ field, column }: UsedVirtual<M>, message: M): string {
  const name = `"${field}":`;
  if (column.kind === "text") return name + quoted(column.read(message));
  if (column.kind === "texts") return `${name}[${column.read(message).map(quoted).join(",")}]`;
  if (column.kind === "pairs") {
    const pairs = column.read(message).map(([key, value]) => `${quoted(key)}:${quoted(value)}`);
    return `${name}{${pairs.join(",")}}`;
  }
  return name + String(column.read(message));
}

function quoted(text: Buffer | string): string {
  return JSON.stringify(typeof text === "string" ? Buffer.from(text).toString("latin1") : text.toString("latin1"));
}
