/** What the address of the SQL page keeps. */
export type SqlSearch = {
  readonly service?: string;
  /** A statement to open in a new tab. */
  readonly q?: string;
  /** Values of its parameters, as JSON. */
  readonly p?: string;
  /** Id of a saved query to open. */
  readonly saved?: string;
};

/** The known members of an address, as text. */
export function sqlSearch(search: Record<string, unknown>): SqlSearch {
  const known = ["service", "q", "p", "saved"].filter((name) => search[name] !== undefined && search[name] !== "");
  return Object.fromEntries(known.map((name) => [name, textOf(search[name])]));
}

/** The router reads `1` and `{}` as JSON. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
