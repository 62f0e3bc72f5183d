/** `millrace apply`, `diff` and `export`. */
import { appendFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { nearMatches } from "../../lib/near-matches.ts";
import { carryOut } from "../apply/carry-out.ts";
import type { Change } from "../apply/compare.ts";
import { readCurrent } from "../apply/current.ts";
import { exported } from "../apply/export.ts";
import { type CurrentObject, type ObjectKind, readWanted, titleOf, type WantedObject } from "../apply/files.ts";
import { orphans } from "../apply/labels.ts";
import { type PlannedStep, planDocument, planLines, planOf } from "../apply/plan.ts";
import { isSaved, lostReference } from "../apply/saved.ts";
import { CliError, exitCodes, usageError } from "../errors.ts";
import { addWaitFlags, addYesFlag, pairFlag, repeated } from "../flags.ts";
import { isForPeople } from "../output/format.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags } from "../wait.ts";

type Spec = Readonly<Record<string, unknown>>;

type PlanFlags = {
  readonly file: readonly string[];
  readonly var?: readonly string[];
  readonly prune?: boolean;
  readonly set: string;
};

function addFileFlags(command: Command): Command {
  return command
    .requiredOption("-f, --file <file>", "File or folder; - reads stdin; may be repeated", repeated)
    .option("--var <name=value>", "Value of a var reference in the files; may be repeated", repeated)
    .option("--prune", "Deletes what apply made from this set and the files no longer have")
    .option("--set <name>", "Name of the set of files, for --prune", "default");
}

type ApplyFlags = PlanFlags &
  WaitFlags & {
    readonly yes?: boolean;
    readonly dryRun?: boolean;
    readonly updateSecrets?: boolean;
    readonly secretsFile?: string;
  };

/** Adds the flags of `apply`. */
export function addApply(command: Command, shell: Shell): void {
  addWaitFlags(addYesFlag(addFileFlags(command)), "new pipes run")
    .option("--dry-run", "Only shows the plan")
    .option("--update-secrets", "Also sends the secrets of the files for objects that exist")
    .option("--secrets-file <file>", "Appends passwords and keys of new services and keys to this file")
    .action(async (flags: ApplyFlags) => await apply(shell, flags));
}

/** Adds the flags of `diff`. */
export function addDiff(command: Command, shell: Shell): void {
  addFileFlags(command)
    .option("--exit-code", "Exit code 6 if there are differences")
    .action(async (flags: PlanFlags & { exitCode?: boolean }) => {
      const { steps } = await planned(shell, flags);
      await showPlan(shell, steps);
      for (const { path, message } of replacements(steps)) shell.say(`${path}: ${message}`);
      const differs = steps.some(({ action }) => action !== "none");
      if (flags.exitCode !== true || !differs) return;
      throw new CliError("there are differences", { exitCode: exitCodes.differences, code: "DIFFERENCES" });
    });
}

type Planned = { readonly steps: readonly PlannedStep[]; readonly existing: readonly CurrentObject[] };

async function planned(shell: Shell, flags: PlanFlags): Promise<Planned> {
  const variables = Object.fromEntries((flags.var ?? []).map((text) => pairFlag("--var", text)));
  const wanted = await readWanted(shell, flags.file, variables);
  const client = await shell.client();
  const kinds = wanted.map(({ kind }) => kind);
  // Nothing else has a mark. Sources are for an access token, without which they stay.
  if (flags.prune === true) kinds.push("Pipe", ...(client.credentials.accessToken ? ["Source" as const] : []));
  const existing = await readCurrent(client, kinds);
  const steps = planOf(wanted, existing);
  checkNames(wanted, existing);
  if (flags.prune !== true) return { steps, existing };
  const gone = await orphans(client, existing, steps, flags.set);
  return { steps: [...steps, ...gone.map((current) => ({ action: "delete" as const, current }))], existing };
}

/** A service or another object that neither exists nor is made would be noticed only half way. */
function checkNames(wanted: readonly WantedObject[], existing: readonly CurrentObject[]): void {
  const known = new Set(
    [...wanted, ...existing].filter(({ kind }) => kind === "Service").flatMap(({ name, id }) => [name, id]),
  );
  const all = [...wanted, ...existing];
  for (const one of wanted) {
    const { service, spec, kind } = one;
    if (service !== undefined && !known.has(service)) throw notFound(one, "service", "Service", service);
    const lost = isSaved(kind) ? lostReference(spec, all) : undefined;
    if (lost !== undefined) throw notFound(one, `spec.${lost.path}`, lost.kind, lost.name);
  }
}

function notFound(one: WantedObject, path: string, kind: ObjectKind, name: string): CliError {
  return new CliError(`${one.file.placeOf(path.split("."))}: ${path}: there is no ${kind} ${name}`, {
    exitCode: exitCodes.notFound,
    code: "NOT_FOUND",
    hint: `Add a document of the kind ${kind}, or correct the name in ${titleOf(one)}.`,
  });
}

async function showPlan(shell: Shell, steps: readonly PlannedStep[]): Promise<void> {
  if (isForPeople(shell.format)) await shell.draw(planLines(steps, shell.hasColor(shell.io.stdout)));
  else await shell.printList(planDocument(steps), [], "");
}

async function apply(shell: Shell, flags: ApplyFlags): Promise<void> {
  checkWait(flags);
  const { steps, existing } = await planned(shell, flags);
  await showPlan(shell, steps);
  refuseReplacement(steps);
  const isIdle = steps.every(({ action }) => action === "none") && flags.updateSecrets !== true;
  if (flags.dryRun === true || isIdle) return;
  const secrets = secretKeeper(shell, steps, flags.secretsFile);
  await shell.confirm("The plan will be carried out.", { yes: flags.yes });
  const { set, wait, timeout, updateSecrets } = flags;
  const options = { set, keepSecret: secrets, ...(updateSecrets === true ? { updateSecrets } : {}) };
  await carryOut(shell, steps, existing, {
    ...options,
    ...(wait === true ? { wait } : {}),
    ...(timeout === undefined ? {} : { timeout }),
  });
}

function refuseReplacement(steps: readonly PlannedStep[]): void {
  const issues = replacements(steps);
  if (issues.length === 0) return;
  throw new CliError("nothing was changed: some objects need replacement, which apply never does by itself", {
    code: "REPLACEMENT_NEEDED",
    issues,
    hint: "Correct the names of members that are not known. Otherwise delete the object and apply again, or give the new one another name. The table of a deleted pipe stays.",
  });
}

/** What cannot change, with file and line. */
function replacements(steps: readonly PlannedStep[]): { readonly path: string; readonly message: string }[] {
  return steps.flatMap((step) =>
    step.action === "replace"
      ? step.fixed.map((change) => ({
          path: `${step.wanted.file.placeOf(["spec", ...change.path.split(".")])}: ${titleOf(step.wanted)}`,
          message: `${change.path} ${whyFixed(change, step.current)}`,
        }))
      : [],
  );
}

/** A member that the object lacks is either misspelt or belongs to creation: only the API knows which. */
function whyFixed({ path, from }: Change, { spec }: CurrentObject): string {
  if (from !== undefined) return "cannot change";
  const names = path.split(".");
  const name = names.pop() as string;
  const parent = names.reduce<unknown>((at, each) => (at as Spec | undefined)?.[each], spec);
  const [near] = nearMatches(name, Object.keys(parent ?? {}));
  return `cannot be added to an object that exists; ${near === undefined ? "is its name right?" : `did you mean ${near}?`}`;
}

/** Where secrets of new objects go: to a file, or to a terminal. They are not written to logs. */
function secretKeeper(
  shell: Shell,
  steps: readonly PlannedStep[],
  file: string | undefined,
): (name: string, secret: string) => void {
  if (file !== undefined) {
    return (name, secret) => {
      appendFileSync(resolve(shell.io.cwd, file), `${name} ${secret}\n`, { mode: 0o600 });
    };
  }
  if (shell.io.stderr.isTTY === true) return (name, secret) => shell.say(`${name}: ${secret}`);
  if (steps.some((step) => step.action === "create" && step.wanted.kind === "Key")) {
    throw usageError("the secret of a new key is shown once, and there is no terminal", "Add --secrets-file FILE.");
  }
  return (name) => shell.say(`${name}: set its password with \`millrace service password\``);
}

const exportedWords: Readonly<Record<string, ObjectKind>> = {
  ...{ service: "Service", schedule: "BackupSchedule", pipe: "Pipe", source: "Source" },
  ...{ webhook: "Webhook", search: "SavedSearch", dashboard: "Dashboard", alert: "Alert" },
};

/** Adds the arguments of `export`. */
export function addExport(command: Command, shell: Shell): void {
  command
    .argument("[objects...]", `${Object.keys(exportedWords).join(", ")}, or names of services; default: service pipe`)
    .option("--all", "Everything but keys")
    .action(async (objects: readonly string[], flags: { all?: boolean }) => {
      const client = await shell.client();
      const named = objects.filter((object) => !Object.hasOwn(exportedWords, object));
      const kinds = objects.flatMap((word) => (named.includes(word) ? [] : (exportedWords[word] ?? [])));
      const all = flags.all
        ? Object.values(exportedWords)
        : kinds.length > 0
          ? kinds
          : ["Service" as const, "Pipe" as const];
      const existing = await readCurrent(client, all);
      const chosen = existing.filter(
        ({ kind, name, service }) => all.includes(kind) && (named.length === 0 || named.includes(service ?? name)),
      );
      for (const name of named) {
        if (existing.some((one) => one.name === name || one.service === name)) continue;
        throw new CliError(`there is no service ${name}`, { exitCode: exitCodes.notFound, code: "NOT_FOUND" });
      }
      const { stringify } = await import("yaml");
      const documents = exported(chosen, existing);
      if (shell.format === "json") return await shell.write(`${JSON.stringify(documents, null, 2)}\n`);
      await shell.write(documents.map((one) => stringify(one, { lineWidth: 0 })).join("---\n"));
    });
}
