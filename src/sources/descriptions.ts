/** The kinds of sources as plain data, one line each. `registry.ts` has their schemas, `connectors.ts` their code. */
import type { SourceDescription } from "./description.ts";
import { managedStreamDescription } from "./managed-stream/description.ts";
import { messageBrokerDescription } from "./message-broker/description.ts";
import { objectStorageDescription } from "./object-storage/description.ts";
import { pushDescription } from "./push/description.ts";
import { relationalDbDescription } from "./relational-db/description.ts";

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

/** The members of a source of any kind; a record names one. */
type SourceOfRecord = Readonly<Record<string, unknown>>;

/** The kind of a source in a record or a request. */
export function kindKeyOf(source: SourceOfRecord): SourceKindKey | undefined {
  return sourceKindKeys.find((key) => source[key] != null);
}
