/** From the engine's lines to rows. */
import { yieldWhenLong } from "../../lib/yield.ts";

/** A string, or a number whose digits are looked at. */
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** The same JSON with integers beyond 2^53 as text: as numbers they would lose digits. */
export function withSafeIntegers(json: string): string {
  if (!/\d{16}/.test(json)) return json;
  return json.replaceAll(token, (found) =>
    found.length >= 16 && /^-?\d+$/.test(found) && !Number.isSafeInteger(Number(found)) ? `"${found}"` : found,
  );
}

export type EngineRows = {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
};

/** Reads `JSONCompactEachRowWithNamesAndTypes`. */
export async function engineRows(text: string): Promise<EngineRows> {
  const [names, types, ...lines] = text.split("\n").filter((line) => line !== "");
  const listOf = (line = "[]") => JSON.parse(line) as string[];
  const typeNames = listOf(types);
  const rows: unknown[][] = [];
  for (const line of lines) {
    rows.push(JSON.parse(withSafeIntegers(line)) as unknown[]);
    await yieldWhenLong();
  }
  return { columns: listOf(names).map((name, i) => ({ name, type: typeNames[i] ?? "" })), rows };
}
