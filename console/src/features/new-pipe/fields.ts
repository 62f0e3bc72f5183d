/** The inputs of each kind of source, from what the kinds say of themselves. */
import {
  type SourceKindKey,
  sourceDescriptions,
  sourceKindKeys,
} from "../../../../src/sources/contract/descriptions.ts";
import { holds, type SourceField } from "../../../../src/sources/contract/fields.ts";

/** Texts by path; switches are `true` or nothing. */
export type Values = Readonly<Record<string, string>>;

export type Step = NonNullable<SourceField["step"]>;

/** The inputs that these values need: in a step, or in all; none before a kind is chosen. */
export function inputsOf(kind: SourceKindKey | undefined, values: Values, step?: Step): readonly SourceField[] {
  const fields = kind === undefined ? [] : sourceDescriptions[kind].fields;
  return fields.filter(
    (field) =>
      field.step !== undefined &&
      (step === undefined || field.step === step) &&
      holds(field.when, (path) => values[path]),
  );
}

const secretPaths = new Set(
  sourceKindKeys.flatMap((kind) =>
    sourceDescriptions[kind].fields.filter(({ input }) => input === "secret").map(({ path }) => path),
  ),
);

/** Values that must not be kept in a draft. */
export function isSecret(path: string): boolean {
  return secretPaths.has(path);
}
