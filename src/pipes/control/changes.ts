/** Applies a patch: mutable members are merged, unchanged immutable ones tolerated, changed ones refused. */

import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { withoutNulls } from "../../api/operation.ts";
import type { createPipeBody, pipeOperations } from "../../api/pipes.ts";
import { AppError, type Issue } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import { kindOf } from "../../sources/registry.ts";
import type { Destination, SourceKind } from "../../sources/source.ts";
import type { Pipe, PipeChange, PipeDestination } from "../../store/pipes.ts";
import { destinationIssues, fullConfig, mappingIssues, splitSecrets, tableOf } from "./definition.ts";

type PatchBody = z.output<(typeof pipeOperations)["updatePipe"]["body"]>;
type Settings = z.output<typeof createPipeBody>["settings"];

export type CheckedChange = {
  readonly change: PipeChange;
  /** The new source, when it changes; it must be checked before it is saved. */
  readonly config: JsonObject | undefined;
  readonly kind: SourceKind;
  readonly table: Destination;
  readonly validateSamples: boolean;
};

/** Throws BAD_REQUEST with every issue. */
export function checkChange(pipe: Pipe, secrets: Record<string, unknown>, body: PatchBody): CheckedChange {
  const kind = kindOf(pipe.sourceKind);
  const source = body.source ?? undefined;
  const { config, issues } = changedConfig(pipe, secrets, kind, (source ?? {}) as Record<string, unknown>);
  const columns = body.destination?.columns ?? undefined;
  const destination: PipeDestination = columns === undefined ? pipe.destination : { ...pipe.destination, columns };
  const mappings = body.fieldMappings ?? pipe.fieldMappings;
  const all = [...issues];
  if (columns !== undefined) all.push(...destinationIssues(destination));
  if (columns !== undefined || body.fieldMappings) all.push(...mappingIssues(destination, mappings));
  if (all.length > 0) refuse(all);
  const split = config === undefined ? undefined : splitSecrets(kind, config);
  return {
    kind,
    config,
    table: tableOf(destination, mappings, kind.targets?.(config ?? (fullConfig(pipe, secrets) as JsonObject))),
    validateSamples: source?.validateSamples === true,
    change: {
      ...(body.name ? { name: body.name } : {}),
      ...(split === undefined ? {} : { source: { [kind.key]: split.plain }, secrets: split.secrets }),
      ...(columns === undefined ? {} : { destination }),
      ...(body.fieldMappings ? { fieldMappings: body.fieldMappings } : {}),
      ...(body.settings ? { settings: mergeSettings(pipe.settings, body.settings) } : {}),
    },
  };
}

/** Omitted members keep their value, null removes one. */
export function mergeSettings(
  current: Readonly<Record<string, number | boolean>>,
  change: NonNullable<Settings>,
): Record<string, number | boolean> {
  return withoutNulls({ ...current, ...change }) as Record<string, number | boolean>;
}

function changedConfig(
  pipe: Pipe,
  secrets: Record<string, unknown>,
  kind: SourceKind,
  source: Record<string, unknown>,
): { config: JsonObject | undefined; issues: Issue[] } {
  const issues: Issue[] = [];
  for (const key of Object.keys(source)) {
    if (key === "validateSamples" || key === kind.key || source[key] === null || source[key] === undefined) continue;
    issues.push({ path: `source.${key}`, message: `cannot be set: the source of this pipe is ${kind.key}` });
  }
  const given = source[kind.key] as Record<string, unknown> | null | undefined;
  if (given === null || given === undefined) return { config: undefined, issues };
  const current = fullConfig(pipe, secrets) as Record<string, unknown>;
  const next: Record<string, unknown> = { ...current };
  for (const [member, value] of Object.entries(given)) {
    if (kind.mutable.includes(member)) next[member] = value;
    else if (!isDeepStrictEqual(withoutNulls(value ?? undefined), current[member])) {
      issues.push({
        path: `source.${kind.key}.${member}`,
        message: "cannot be changed; delete the pipe and create it anew",
      });
    }
  }
  const config = withoutNulls(next) as JsonObject;
  if (isDeepStrictEqual(config, current)) return { config: undefined, issues };
  for (const { path, message } of kind.rules?.(config) ?? []) {
    issues.push({ path: `source.${kind.key}.${path}`, message });
  }
  return { config, issues };
}

function refuse(issues: readonly Issue[]): never {
  const list = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new AppError("BAD_REQUEST", list, { issues });
}
