/** The kinds of sources with their schemas and rules, one line each. */

import { managedStream } from "../managed-stream/declaration/kind.ts";
import { messageBroker } from "../message-broker/declaration/kind.ts";
import { objectStorage } from "../object-storage/declaration/kind.ts";
import { push } from "../push/declaration/kind.ts";
import { relationalDb } from "../relational-db/declaration/kind.ts";
import type { SourceKindKey } from "./descriptions.ts";
import type { SourceKind } from "./source.ts";

export const sourceKinds = { messageBroker, objectStorage, managedStream, relationalDb, push } satisfies Record<
  SourceKindKey,
  SourceKind
>;

/** The keys of the kinds that a resync of tables, of objects and the like is for. */
export function kindsWith(ability: keyof SourceKind): string {
  const able = Object.values<SourceKind>(sourceKinds).filter((kind) => kind[ability] !== undefined);
  return able.map(({ key }) => key).join(", ");
}

/** `key` is a member of `source` that the schema has accepted. */
export function kindOf(key: string): SourceKind {
  return sourceKinds[key as SourceKindKey];
}
