/** The search of an address without empty values: a filter that is chosen away leaves nothing behind. */
export function withoutEmpty<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== "" && value !== undefined)) as T;
}
