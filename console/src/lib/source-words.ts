/** Members of a source in the words of the forms, where the API names their paths. */
import { isSourceKind, sourceDescriptions } from "../../../src/sources/contract/descriptions.ts";
import { wordsAt } from "./format.ts";

/** `source.relationalDb.port` is `Port`; a member with several inputs, such as a login, has the labels of all. */
export function labelAt(path: string): string {
  const [first, kind = "", ...rest] = path.split(".");
  const member = rest.join(".");
  if (first !== "source" || !isSourceKind(kind)) return wordsAt(path);
  const { fields } = sourceDescriptions[kind];
  const own = fields.filter((field) => field.path === member || member.startsWith(`${field.path}.`));
  const asked = own.length > 0 ? own : fields.filter((field) => field.path.startsWith(`${member}.`));
  return asked.map(({ label }) => label).join(" or ") || wordsAt(path);
}

/** A sentence of the server with the label of each member of a source that it names. */
export function inLabels(text: string): string {
  return text.replaceAll(/\bsource(?:\.\w+)+/g, labelAt);
}
