/** Applies a patch: mutable members are merged, unchanged immutable ones tolerated, changed ones refused. */

import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { withoutNulls } from "../../../api/operation.ts";
import type { createPipeBody, pipeOperations } from "../../../api/pipes.ts";
import { type Issue, refuseIssues } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { kindOf } from "../../../sources/contract/registry.ts";
import type { Destination, SourceKind } from "../../../sources/contract/source.ts";
import type { Pipe, PipeChange, PipeDestination } from "../../../store/pipes/pipes.ts";
import type { CheckedDestination } from "./check.ts";
import { destinationIssues, fullConfig, mappingIssues, splitSecrets, tableOf } from "./definition.ts";

type PatchBody = z.output<(typeof pipeOperations)["updatePipe"]["body"]>;
type Settings = z.output<typeof createPipeBody>["settings"];

export type CheckedChange = {
  readonly change: PipeChange;
  /** The new source, when it changes; it must be checked before it is saved. */
  readonly config: JsonObject | undefined;
  readonly kind: SourceKind;
  readonly table: Destination;
  /** The new destination, when its columns change: checked before it is saved, like the source. */
  readonly destination: CheckedDestination | undefined;
  readonly validateSamples: boolean;
};

/** The secret members of a pipe's source; undefined when they were sealed with another key. */
type Secrets = Record<string, unknown> | undefined;

/** Throws BAD_REQUEST with every issue. Secrets that cannot be decrypted are kept until others replace them. */
export function checkChange(pipe: Pipe, secrets: Secrets, body: PatchBody): CheckedChange {
  const kind = kindOf(pipe.sourceKind);
  const source = body.source ?? undefined;
  const { next, issues, isKept, removed } = changedConfig(pipe, secrets, kind, source ?? {});
  // What lacks its secrets can be saved, and not be tried.
  const config = isKept ? undefined : next;
  const columns = body.destination?.columns ?? undefined;
  const destination: PipeDestination = columns === undefined ? pipe.destination : { ...pipe.destination, columns };
  const mappings = body.fieldMappings ?? pipe.fieldMappings;
  const all = [...issues];
  if (columns !== undefined) all.push(...destinationIssues(destination));
  if (columns !== undefined || body.fieldMappings) all.push(...mappingIssues(destination, mappings));
  refuseIssues(all);
  const split = next === undefined ? undefined : splitSecrets(kind, next);
  return {
    kind,
    config,
    table: tableOf(destination, mappings, kind.targets?.(next ?? fullConfig(pipe, secrets ?? {}))),
    destination: changedDestination(pipe.destination, destination),
    validateSamples: source?.validateSamples === true && !isKept,
    change: {
      ...(body.name ? { name: body.name } : {}),
      ...(split === undefined ? {} : { source: { [kind.key]: split.plain } }),
      ...(split === undefined || isKept ? {} : { secrets: split.secrets }),
      ...(columns === undefined ? {} : { destination }),
      ...(body.fieldMappings ? { fieldMappings: body.fieldMappings } : {}),
      ...(body.settings ? { settings: mergeSettings(pipe.settings, body.settings) } : {}),
      ...(removed.length === 0 ? {} : { resyncTables: [...new Set([...pipe.resyncTables, ...removed])] }),
    },
  };
}

function changedDestination(before: PipeDestination, definition: PipeDestination): CheckedDestination | undefined {
  const known = new Map((before.columns ?? []).map(({ name, type }) => [name, type]));
  const changed = (definition.columns ?? []).filter(({ name, type }) => known.get(name) !== type);
  return changed.length === 0 ? undefined : { definition, changed };
}

/** Omitted members keep their value, null removes one. */
export function mergeSettings(
  current: Readonly<Record<string, number | boolean>>,
  change: NonNullable<Settings>,
): Record<string, number | boolean> {
  return withoutNulls({ ...current, ...change }) as Record<string, number | boolean>;
}

type ChangedConfig = {
  /** The source as it will be; undefined when it stays as it is. */
  readonly next: JsonObject | undefined;
  readonly issues: readonly Issue[];
  /** The secrets cannot be opened, and stay as they are. */
  readonly isKept: boolean;
  /** Tables that are taken out: should they come back before a worker has seen that, they begin anew too. */
  readonly removed: readonly string[];
};

function changedConfig(pipe: Pipe, secrets: Secrets, kind: SourceKind, source: Record<string, unknown>): ChangedConfig {
  const issues: Issue[] = [];
  for (const key of Object.keys(source)) {
    if (key === "validateSamples" || key === kind.key || source[key] === null || source[key] === undefined) continue;
    issues.push({ path: `source.${key}`, message: `cannot be set: the source of this pipe is ${kind.key}` });
  }
  const sent = (source[kind.key] ?? {}) as JsonObject;
  const isKept = secrets === undefined && !Object.entries(sent).some(([name, value]) => value && isSecret(kind, name));
  const current = fullConfig(pipe, secrets ?? {});
  const listed = kind.listChange?.apply(current, sent) ?? { change: sent, removed: [], issues: [] };
  for (const issue of listed.issues) issues.push({ ...issue, path: `source.${kind.key}.${issue.path}` });
  if (listed.issues.length > 0) return { next: undefined, issues, isKept, removed: [] };
  const next: Record<string, unknown> = { ...current };
  for (const [member, value] of Object.entries(listed.change)) {
    if (value === null && isRequired(kind, member)) continue;
    const wanted = withoutNulls(value ?? undefined);
    const parts = kind.mutable.filter((path) => path.startsWith(`${member}.`));
    if (kind.mutable.includes(member)) next[member] = value;
    else if (parts.length > 0 && wanted !== undefined) {
      const merged = { ...(current[member] as JsonObject | undefined), ...(value as JsonObject) };
      next[member] = merged;
      issues.push(...fixedIssues(kind, member, current[member] as JsonObject | undefined, merged));
    } else if (secrets === undefined && isWithSecrets(kind, member, wanted, current[member])) next[member] = value;
    else if (!isDeepStrictEqual(wanted, current[member])) {
      issues.push({ path: `source.${kind.key}.${member}`, message: fixed });
    }
  }
  const config = withoutNulls(next) as JsonObject;
  const removed = [...listed.removed, ...goneTargets(kind, current, config)];
  if (isDeepStrictEqual(config, current)) return { next: undefined, issues, isKept, removed };
  const rules = isKept ? [] : (kind.rules?.(config) ?? []);
  const problems = [...rules, ...redirected(kind, current, { sent, isKept }, config)];
  for (const { path, message } of problems) issues.push({ path: `source.${kind.key}.${path}`, message });
  return { next: config, issues, isKept, removed };
}

/** Null says "not set": such a member stays as it is. */
function isRequired(kind: SourceKind, member: string): boolean {
  const schema = kind.request.shape[member];
  return schema !== undefined && !schema.safeParse(undefined).success;
}

/** Destination tables that the changed source does not fill any more. */
function goneTargets(kind: SourceKind, before: JsonObject, after: JsonObject): string[] {
  const left = kind.targets?.(after) ?? [];
  return (kind.targets?.(before) ?? []).filter((target) => !left.includes(target));
}

const fixed = "cannot be changed; delete the pipe and create it anew";

type Sent = { readonly sent: JsonObject; readonly isKept: boolean };

/** Stored secrets that would go to another address than the one that they were given for. */
function redirected(kind: SourceKind, before: JsonObject, { sent, isKept }: Sent, after: JsonObject): Issue[] {
  return Object.entries(kind.sentTo ?? {}).flatMap(([secret, addresses]) => {
    // A secret that cannot be opened now is sent once its key is back.
    const isStored = isKept || (before[secret] !== undefined && after[secret] !== undefined);
    if (!isStored || sent[secret] != null) return [];
    const moved = addresses.find((member) => !isAmong(after[member], before[member]));
    if (moved === undefined) return [];
    return [{ path: secret, message: `must be given again with another ${moved}: it was given for the one before` }];
  });
}

/** Whether every address of the list is one of the list before. */
function isAmong(after: unknown, before: unknown): boolean {
  const known = addressesOf(before);
  return addressesOf(after).every((address) => known.includes(address));
}

function addressesOf(list: unknown): string[] {
  return String(list ?? "")
    .split(",")
    .map((address) => address.trim());
}

/** The members of an object, of which some can be changed, that cannot and would be. */
function fixedIssues(kind: SourceKind, member: string, before: JsonObject = {}, after: JsonObject): Issue[] {
  const changed = Object.keys(after).filter((name) => !isDeepStrictEqual(after[name] ?? undefined, before[name]));
  const paths = changed.map((name) => `${member}.${name}`).filter((path) => !kind.mutable.includes(path));
  return paths.map((path) => ({ path: `source.${kind.key}.${path}`, message: fixed }));
}

function isSecret(kind: SourceKind, member: string): boolean {
  return kind.secrets.some((path) => path === member || path.startsWith(`${member}.`));
}

/** True of a member that is as it was but for its secrets, which are lost. */
function isWithSecrets(kind: SourceKind, member: string, wanted: unknown, shown: unknown): boolean {
  if (!isSecret(kind, member) || wanted === undefined) return false;
  return isDeepStrictEqual(splitSecrets(kind, { [member]: wanted } as JsonObject).plain[member], shown);
}
