/** Sources and destinations of pipes in words. */
import {
  kindKeyOf,
  type SourceKindKey,
  sourceDescriptions,
  sourceKindKeys,
} from "../../sources/contract/descriptions.ts";
import type { PipeObject } from "../client/resolve.ts";

/** The key of the kind that a word of the command line names. */
export const kindWords: Readonly<Record<string, SourceKindKey>> = Object.fromEntries(
  sourceKindKeys.map((key) => [sourceDescriptions[key].word, key]),
);

/** The word of a kind, by its key. */
export function wordOf(key: string | undefined): string {
  return Object.keys(kindWords).find((word) => kindWords[word] === key) ?? "-";
}

type Viewed = Pick<PipeObject, "source" | "destination">;

/** What the pipe reads: topics, objects, a stream, or a database. */
export function sourceText({ source }: Pick<Viewed, "source">): string {
  const key = kindKeyOf(source);
  if (key === undefined) return "-";
  const config = source[key] as Readonly<Record<string, unknown>>;
  const texts = sourceDescriptions[key].summaries.map((form) =>
    form.replaceAll(/\{(\w+)\}/g, (_, member: string) => String(config[member] ?? "-")),
  );
  return texts.find((text) => text !== "-") ?? "-";
}

export function destinationText({ source, destination }: Viewed): string {
  const database = destination.database ?? "default";
  if (destination.table != null) return `${database}.${destination.table}`;
  const key = kindKeyOf(source);
  if (key === undefined) return database;
  const config = source[key] as Readonly<Record<string, unknown>>;
  const mappings = (config[sourceDescriptions[key].listing.member] ?? []) as readonly { targetTable: string }[];
  const [first] = mappings;
  if (first === undefined) return database;
  return `${database}.${first.targetTable}${mappings.length > 1 ? ` and ${mappings.length - 1} more` : ""}`;
}
