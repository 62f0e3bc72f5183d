/** Members whose values are secrets, for output. */

const names = /^(?:password|secretKey|privateKey|connectionString|keySecret|accessToken|serviceAccountKey)$/;

/** The value with `***` in the place of secrets. */
export function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      names.test(key) && typeof member === "string" ? "***" : masked(member),
    ]),
  );
}
