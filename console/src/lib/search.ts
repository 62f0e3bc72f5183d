/** The search of an address without empty values: a filter that is chosen away leaves nothing behind. */
export function withoutEmpty<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== "" && value !== undefined)) as T;
}

/**
 * What an address has under these names, as text. Empty texts count as absent; the router reads `1` as a number, which
 * is the text that somebody has typed.
 */
export function textsOf<Name extends string>(
  search: Readonly<Record<string, unknown>>,
  ...names: readonly Name[]
): { readonly [name in Name]?: string } {
  const given = names.filter((name) => isText(search[name]) || typeof search[name] === "number");
  return Object.fromEntries(given.map((name) => [name, String(search[name])])) as { [name in Name]?: string };
}

/** The value that an address has under the name, if it is one of these. */
export function oneOf<Name extends string, const Value extends string>(
  search: Readonly<Record<string, unknown>>,
  name: Name,
  values: readonly Value[],
): { readonly [name in Name]?: Value } {
  const value = values.find((one) => one === search[name]);
  return (value === undefined ? {} : { [name]: value }) as { [name in Name]?: Value };
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
