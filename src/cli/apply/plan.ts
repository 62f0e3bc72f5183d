/** What `apply` would do. */
import { kindKeyOf, sourceDescriptions } from "../../sources/contract/descriptions.ts";
import { CliError, exitCodes } from "../errors.ts";
import { printable, styled } from "../output/text.ts";
import { serviceMembers } from "./change.ts";
import { type Change, type Comparison, compareSpecs } from "./compare.ts";
import type { CurrentObject } from "./files.ts";
import { type ObjectDocument, titleOf, type WantedObject } from "./files.ts";
import { isSaved, withNames } from "./saved.ts";

export type PlannedStep =
  | { readonly action: "create"; readonly wanted: WantedObject }
  | {
      readonly action: "change" | "replace" | "none";
      readonly wanted: WantedObject;
      readonly current: CurrentObject;
      readonly comparison: Comparison;
      /** Changes that the API does not offer. */
      readonly fixed: readonly Change[];
    }
  | { readonly action: "delete"; readonly current: CurrentObject };

/** One step for each wanted object, in order. An ambiguous name is an error with the ids. */
export function planOf(wanted: readonly WantedObject[], existing: readonly CurrentObject[]): PlannedStep[] {
  return wanted.map((one) => {
    const current = counterpart(one, existing);
    if (current === undefined) return { action: "create", wanted: one };
    const spec = isSaved(one.kind) ? withNames(one.spec, existing) : one.spec;
    const comparison = compareSpecs(spec, current.spec);
    const fixed = comparison.changes.filter(({ path }) => !isChangeable(one.kind, path));
    const action = fixed.length > 0 ? "replace" : comparison.changes.length > 0 ? "change" : "none";
    return { action, wanted: one, current, comparison, fixed };
  });
}

function counterpart(one: WantedObject, existing: readonly CurrentObject[]): CurrentObject | undefined {
  const { kind, name, service, id, file } = one;
  const own = existing.filter(
    (object) => object.kind === kind && (service === undefined || [object.service, object.serviceId].includes(service)),
  );
  const alike = own.filter((object) => kind === "BackupSchedule" || object.name === name);
  const found = id === undefined ? alike : own.filter((object) => object.id === id);
  // An id of another server: the object is made here, unless one that has its name may be meant.
  if (found.length === 1 || alike.length === 0) return found[0];
  const problem = id === undefined ? "is ambiguous" : `has not the id ${id}`;
  throw new CliError(`${file.placeOf([id === undefined ? "name" : "id"])}: ${titleOf(one)} ${problem}`, {
    exitCode: exitCodes.usage,
    code: "AMBIGUOUS",
    issues: alike.map((object) => ({ path: object.id, message: titleOf(object) })),
    hint: "Pin one of them with `id:`.",
  });
}

function isChangeable(kind: ObjectDocument["kind"], path: string): boolean {
  if (kind === "Service") return serviceMembers.includes(path.split(".")[0] as string);
  if (kind === "Key") return path !== "pipeId";
  if (kind !== "Pipe") return true;
  if (/^(settings|scaling|fieldMappings|destination\.columns)/.test(path)) return true;
  const [, key = "", member = ""] = /^source\.(\w+)\.(\w+)/.exec(path) ?? [];
  const known = kindKeyOf({ [key]: true });
  return known !== undefined && sourceDescriptions[known].mutable.includes(member);
}

/** Lines with `+` (create), `~` (change), `-` (delete), `!` (needs replacement), and a summary. */
export function planLines(steps: readonly PlannedStep[], color: boolean): string[] {
  const lines = steps.flatMap((step) => stepLines(step, color));
  const count = (action: PlannedStep["action"]) => steps.filter((step) => step.action === action).length;
  const [created, changed, deleted] = [count("create"), count("change"), count("delete")];
  const replaced = count("replace") === 0 ? "" : `, ${count("replace")} need replacement`;
  if (lines.length === 0) return ["no changes"];
  return [...lines, `${created} to create, ${changed} to change, ${deleted} to delete${replaced}`];
}

function stepLines(step: PlannedStep, color: boolean): string[] {
  switch (step.action) {
    case "create":
      return [styled(`+ ${printable(titleOf(step.wanted))}`, "green", color)];
    case "delete":
      return [styled(`- ${printable(titleOf(step.current))}`, "red", color)];
    case "none":
      return [];
    default: {
      const { wanted, comparison, fixed } = step;
      const isReplaced = step.action === "replace";
      const title = printable(titleOf(wanted));
      const head = isReplaced ? `! ${title} needs replacement` : `~ ${title}`;
      return [
        styled(head, isReplaced ? "red" : "yellow", color),
        ...comparison.changes.map((change) => changeLine(change, fixed.includes(change), color)),
        ...comparison.secrets.map((path) => `    ${printable(path)}: not compared (secret)`),
      ];
    }
  }
}

function changeLine({ path: name, from, to }: Change, isFixed: boolean, color: boolean): string {
  const path = printable(name);
  const note = isFixed ? " (cannot change)" : "";
  if (from === undefined || from === null) return styled(`    + ${path}: ${shown(to)}${note}`, "green", color);
  if (to === null) return styled(`    - ${path}: ${shown(from)}${note}`, "red", color);
  return styled(`    ~ ${path}: ${shown(from)} -> ${shown(to)}${note}`, "yellow", color);
}

function shown(value: unknown): string {
  const text = printable(JSON.stringify(value) ?? "null");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** The plan for programs. */
export function planDocument(steps: readonly PlannedStep[]): object[] {
  return steps.map((step) => {
    const { kind, name, service } = step.action === "delete" ? step.current : step.wanted;
    const changes = "comparison" in step ? step.comparison.changes : [];
    return { action: step.action, kind, name, service, changes };
  });
}
