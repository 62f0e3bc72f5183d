/** Sources and destinations of pipes in words. */
import {
  kindKeyOf,
  type SourceKindKey,
  sourceDescriptions,
  sourceKindKeys,
} from "../../sources/contract/descriptions.ts";
import type { PipeObject, PipeSummary } from "../client/resolve.ts";

/** The key of the kind that a word of the command line names. */
export const kindWords: Readonly<Record<string, SourceKindKey>> = Object.fromEntries(
  sourceKindKeys.map((key) => [sourceDescriptions[key].word, key]),
);

/** The word of a kind, by its key. */
export function wordOf(key: string | undefined): string {
  return Object.keys(kindWords).find((word) => kindWords[word] === key) ?? "-";
}

type Viewed = Pick<PipeObject, "source" | "destination">;

const member = /\{(\w+)\}/g;

/** What the pipe reads: topics, objects, a stream, or a database. */
export function sourceText({ source }: Pick<Viewed, "source">): string {
  const key = kindKeyOf(source);
  if (key === undefined) return "-";
  const config = source[key] as Readonly<Record<string, unknown>>;
  const isNamed = (form: string) => [...form.matchAll(member)].every(([, name = ""]) => config[name] != null);
  const form = sourceDescriptions[key].summaries.find(isNamed);
  return form?.replaceAll(member, (_, name: string) => String(config[name])) ?? "-";
}

/** `database.table`; several tables of one database are `database.*`. */
export function placeText({ database, table }: PipeSummary["destination"]): string {
  return `${database ?? "default"}.${table ?? "*"}`;
}

/** Names the first table of a database's pipe, too. */
export function destinationText({ source, destination }: Viewed): string {
  const database = destination.database ?? undefined;
  const key = kindKeyOf(source);
  const listing = key === undefined ? undefined : sourceDescriptions[key].listing;
  if (destination.table != null || key === undefined || listing?.of !== "tables") {
    return placeText({ database, table: destination.table ?? undefined });
  }
  const config = source[key] as Readonly<Record<string, unknown>>;
  const [first, ...more] = (config[listing.member] ?? []) as readonly { targetTable: string }[];
  return `${placeText({ database, table: first?.targetTable })}${more.length > 0 ? ` and ${more.length} more` : ""}`;
}
