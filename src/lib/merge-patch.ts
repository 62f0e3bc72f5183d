/** Merge patches of JSON documents (RFC 7396). */
import { isObject, type Json } from "./json.ts";

/** The document with the patch applied: members that are null in the patch are removed. Changes neither argument. */
export function mergePatch(document: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged: Record<string, Json> = isObject(document) ? { ...document } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name] ?? null, value);
  }
  return merged;
}
