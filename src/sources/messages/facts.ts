/**
 * What the error table keeps of a rejected message besides its payload: the values of all virtual columns, as JSON. A
 * mapping that is changed later may read any of them when the message is replayed.
 */
import { isUtf8 } from "node:buffer";
import type { Json, JsonObject } from "../../lib/json.ts";
import type { SourceMessage, VirtualColumn, VirtualColumns } from "./message.ts";

/** A message that was made again from the error table. */
export type KeptMessage = SourceMessage & { readonly facts: JsonObject };

const payloadColumn = "_raw_message";

export function factsOf<M extends SourceMessage>(columns: VirtualColumns<M>, message: M): JsonObject {
  const facts = Object.entries(columns).filter(([name]) => name !== payloadColumn);
  return Object.fromEntries(facts.map(([name, column]) => [name, factOf(column, message)]));
}

/** The same columns of messages that were made again. */
export function keptColumns<M extends SourceMessage>(columns: VirtualColumns<M>): VirtualColumns<KeptMessage> {
  return Object.fromEntries(Object.entries(columns).map(([name, { kind }]) => [name, keptColumn(name, kind)]));
}

function factOf<M extends SourceMessage>(column: VirtualColumn<M>, message: M): Json {
  switch (column.kind) {
    case "text":
      return written(column.read(message));
    case "texts":
      return column.read(message).map(written);
    case "pairs":
      return column.read(message).map(([key, value]) => [written(key), written(value)]);
    case "integer":
      return String(column.read(message));
    case "millis":
      return column.read(message);
  }
}

function keptColumn(name: string, kind: VirtualColumn<KeptMessage>["kind"]): VirtualColumn<KeptMessage> {
  if (name === payloadColumn) return { kind: "text", read: ({ bytes, start, end }) => bytes.subarray(start, end) };
  const list = (message: KeptMessage) => (message.facts[name] ?? []) as readonly Json[];
  switch (kind) {
    case "text":
      return { kind, read: ({ facts }) => readText(facts[name]) };
    case "texts":
      return { kind, read: (message) => list(message).map(readText) };
    case "pairs":
      return {
        kind,
        read: (message) => list(message).map((pair) => [readText((pair as Json[])[0]), readText((pair as Json[])[1])]),
      };
    case "integer":
      return { kind, read: ({ facts }) => BigInt(String(facts[name] ?? 0)) };
    case "millis":
      return { kind, read: ({ facts }) => Number(facts[name] ?? 0) };
  }
}

/** Bytes that are not text have a form of their own. */
function written(value: Buffer | string): Json {
  if (typeof value === "string") return value;
  return isUtf8(value) ? value.toString() : { base64: value.toString("base64") };
}

function readText(value: Json | undefined): Buffer | string {
  if (typeof value === "string") return value;
  const { base64 } = (value ?? {}) as { base64?: string };
  return Buffer.from(base64 ?? "", "base64");
}
