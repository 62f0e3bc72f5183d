/** What samples of a source say about the mappings of a new pipe: a misspelt field loads nothing, and no error. */
import { childOf } from "../../../lib/abort.ts";
import type { Issue } from "../../../lib/errors.ts";
import { nearMatches } from "../../../lib/near-matches.ts";
import type { TargetTable } from "../../../sources/contract/source.ts";
import { pathSteps } from "../../../sources/messages/paths.ts";

/** A source that is slower has its pipe without these warnings. */
const sampleMs = 5_000;
const mostNames = 20;

type Columns = readonly Pick<TargetTable["columns"][number], "name" | "sourceField">[];

/** Fields that columns take and no sample has, and fields that no column takes. */
export function mappingWarnings(fields: readonly string[], columns: Columns): Issue[] {
  // Facts about a message, such as its offset or the whole text, are not fields of it.
  const [facts, named] = [columns.filter(isFact), columns.filter((one) => !isFact(one))];
  const firstStep = (field: string) => (fields.includes(field) ? field : (pathSteps(field)[0] ?? field));
  const missing = named.filter(({ sourceField }) => !fields.includes(firstStep(sourceField)));
  const warnings = missing.map(({ sourceField, name }) => {
    const near = nearMatches(sourceField, fields)[0];
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    const message = `no sample has the field "${sourceField}": the column ${name} stays empty${hint}`;
    return { path: "fieldMappings", message };
  });
  const taken = new Set(named.map(({ sourceField }) => firstStep(sourceField)));
  const left = fields.filter((field) => !taken.has(field));
  if (left.length === 0 || facts.some(({ sourceField }) => sourceField === "_raw_message")) return warnings;
  const more = left.length > mostNames ? ` and ${left.length - mostNames} more` : "";
  const message = `the samples have fields that no column takes: ${left.slice(0, mostNames).join(", ")}${more}`;
  return [...warnings, { path: "fieldMappings", message }];
}

function isFact({ sourceField }: Columns[number]): boolean {
  return sourceField.startsWith("_");
}

/** The names, or none when there is no sample in time: that is not a reason to refuse a pipe. */
export async function sampledFields(
  discover: (signal: AbortSignal) => Promise<readonly { readonly name: string }[]>,
  requestSignal: AbortSignal,
): Promise<string[]> {
  using timeout = childOf(requestSignal);
  using _ = setTimeout(() => timeout.abort(), sampleMs);
  try {
    return (await discover(timeout.signal)).map(({ name }) => name);
  } catch (error) {
    if (requestSignal.aborted) throw error;
    return [];
  }
}
