/** What a pipe of this kind promises, in words. */
import { sourceDescriptions } from "../../../../src/sources/descriptions.ts";
import { holds } from "../../../../src/sources/fields.ts";
import type { Form } from "./form.ts";

export function guaranteeOf({ kind, values }: Form): string {
  if (kind === undefined) return "";
  return sourceDescriptions[kind].guarantees.find(({ when }) => holds(when, (path) => values[path]))?.text ?? "";
}
