/** The kinds of sources as data, one line each. `registry.ts` has their schemas, `../connectors.ts` their code. */

import { managedStreamDescription } from "../managed-stream/declaration/description.ts";
import { messageBrokerDescription } from "../message-broker/declaration/description.ts";
import { objectStorageDescription } from "../object-storage/declaration/description.ts";
import { pushDescription } from "../push/declaration/description.ts";
import { relationalDbDescription } from "../relational-db/declaration/description.ts";
import type { SourceDescription } from "./description.ts";

const described = {
  messageBroker: messageBrokerDescription,
  objectStorage: objectStorageDescription,
  managedStream: managedStreamDescription,
  relationalDb: relationalDbDescription,
  push: pushDescription,
} as const satisfies Record<string, SourceDescription>;

export type SourceKindKey = keyof typeof described;

/** By the member of `source` that selects the kind. */
export const sourceDescriptions: Readonly<Record<SourceKindKey, SourceDescription>> = described;

export const sourceKindKeys = Object.keys(described) as readonly SourceKindKey[];

export function isSourceKind(key: string): key is SourceKindKey {
  return Object.hasOwn(described, key);
}

/** The members of a source of any kind; a record names one. */
type SourceOfRecord = Readonly<Record<string, unknown>>;

/** The kind of a source in a record or a request. */
export function kindKeyOf(source: SourceOfRecord): SourceKindKey | undefined {
  return sourceKindKeys.find((key) => source[key] != null);
}
