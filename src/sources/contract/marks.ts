/** Marks with keys of one form, such as `o:<key>`. An object literal would lose the form of a computed key. */
export function marks<K extends string, V>(...entries: readonly (readonly [K, V])[]): { readonly [P in K]: V } {
  return Object.fromEntries(entries) as { readonly [P in K]: V };
}
