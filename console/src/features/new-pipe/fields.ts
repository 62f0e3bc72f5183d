/** The inputs of each kind of source, from what the kinds say of themselves. */
import { sourceDescriptions, sourceKindKeys } from "../../../../src/sources/contract/descriptions.ts";
import { holds, type SourceField } from "../../../../src/sources/contract/fields.ts";
import type { SourceKind } from "./presets.ts";

/** Texts by path; switches are `true` or nothing. */
export type Values = Readonly<Record<string, string>>;

export type FieldDefinition = Omit<SourceField, "when" | "input"> & {
  readonly input: Exclude<SourceField["input"], "tables">;
  /** Shown only if this holds for the values of the form. */
  readonly when: (values: Values) => boolean;
};

function fieldsOf(step: SourceField["step"]): Readonly<Record<SourceKind, readonly FieldDefinition[]>> {
  const ofKinds = sourceKindKeys.map((kind) => {
    const asked = sourceDescriptions[kind].fields.filter((field) => field.step === step);
    return [
      kind,
      asked.map((field) => ({ ...field, when: (values: Values) => holds(field.when, (path) => values[path]) })),
    ];
  });
  return Object.fromEntries(ofKinds);
}

/** What is needed to reach the source. */
export const connectionFields = fieldsOf("connection");

/** What is read of the source, beside what its listing offers. */
export const dataFields = fieldsOf("data");

const secretPaths = new Set(
  sourceKindKeys.flatMap((kind) =>
    sourceDescriptions[kind].fields.filter(({ input }) => input === "secret").map(({ path }) => path),
  ),
);

/** Values that must not be kept in a draft. */
export function isSecret(path: string): boolean {
  return secretPaths.has(path);
}
