/** What a pipe fills, as connectors see it. */
import type { Destination, TableDestination } from "./source.ts";

/** Called by connectors that fill a table of the user: their pipes have no other destination. */
export function requireTable(destination: Destination): TableDestination {
  if (destination.kind !== "table") throw new TypeError("the connector does not own its tables");
  return destination;
}

/** Names the table for what is given up: for several tables the first. */
export function errorTableOf(destination: Destination): string {
  const first = destination.kind === "table" ? destination.table : (destination.tables[0] ?? "");
  return errorTableNameOf(first);
}

/** The error table beside a table. */
export function errorTableNameOf(table: string): string {
  return `${table}_pipes_error`;
}
