/** Sources and destinations of pipes in words. */
import type { PipeObject } from "../client/resolve.ts";

/** The words of the command line for the kinds of sources. */
export const kindWords = {
  objects: "objectStorage",
  kafka: "messageBroker",
  kinesis: "managedStream",
  postgres: "relationalDb",
} as const;
export type KindWord = keyof typeof kindWords;

type Viewed = Pick<PipeObject, "source" | "destination">;

export function kindOfPipe({ source }: Pick<Viewed, "source">): string {
  const found = Object.entries(kindWords).find(([, key]) => source[key] !== undefined);
  return found?.[0] ?? "-";
}

/** What the pipe reads: topics, objects, a stream, or a database. */
export function sourceText({ source }: Pick<Viewed, "source">): string {
  const { messageBroker, objectStorage, managedStream, relationalDb } = source;
  if (messageBroker !== undefined) return `${messageBroker.topics} at ${messageBroker.brokers}`;
  if (objectStorage !== undefined) return String(objectStorage.url ?? objectStorage.path ?? "-");
  if (managedStream !== undefined) return `${managedStream.streamName} in ${managedStream.region}`;
  if (relationalDb !== undefined) return `${relationalDb.database} at ${relationalDb.host}`;
  return "-";
}

export function destinationText({ source, destination }: Viewed): string {
  const database = destination.database ?? "default";
  if (destination.table != null) return `${database}.${destination.table}`;
  const mappings = (source.relationalDb?.tableMappings ?? []) as readonly { targetTable: string }[];
  const [first] = mappings;
  if (first === undefined) return database;
  return `${database}.${first.targetTable}${mappings.length > 1 ? ` and ${mappings.length - 1} more` : ""}`;
}
