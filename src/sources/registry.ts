/** The connectors, one line each. */
import { managedStream } from "./managed-stream/kind.ts";
import { messageBroker } from "./message-broker/kind.ts";
import { objectStorage } from "./object-storage/kind.ts";
import { relationalDb } from "./relational-db/kind.ts";
import type { SourceKind } from "./source.ts";

export const sourceKinds = { messageBroker, objectStorage, managedStream, relationalDb } satisfies Record<
  string,
  SourceKind
>;

export type SourceKindKey = keyof typeof sourceKinds;

/** `key` is a member of `source` that the schema has accepted. */
export function kindOf(key: string): SourceKind {
  return sourceKinds[key as SourceKindKey];
}
