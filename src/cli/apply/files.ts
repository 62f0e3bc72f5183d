/** The documents of `apply`: read from files and checked for what needs no server. */
import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { nearMatches } from "../../lib/near-matches.ts";
import { sourceDescriptions, sourceKindKeys } from "../../sources/contract/descriptions.ts";
import { type FileDocument, fileError, readDocuments } from "../documents.ts";
import { usageError } from "../errors.ts";
import type { Shell } from "../shell.ts";

export const objectKinds = [
  "Service",
  "BackupSchedule",
  "Pipe",
  "Source",
  "Key",
  "Webhook",
  "SavedSearch",
  "Dashboard",
  "Alert",
] as const;
export type ObjectKind = (typeof objectKinds)[number];

/** An object as it is wanted, or as it is. Its identity is kind, service and name. */
export type ObjectDocument = {
  readonly kind: ObjectKind;
  readonly name: string;
  /** Name of the service of a Pipe, Source or BackupSchedule. */
  readonly service: string | undefined;
  readonly spec: Readonly<Record<string, unknown>>;
};

/** An object that exists. `spec` is what the API shows of it. */
export type CurrentObject = ObjectDocument & { readonly id: string; readonly serviceId: string | undefined };

export type WantedObject = ObjectDocument & { readonly id: string | undefined; readonly file: FileDocument };

/** `Pipe analytics/clicks`. */
export function titleOf({ kind, service, name }: Named): string {
  if (kind === "BackupSchedule") return `${kind} ${service}`;
  return service === undefined ? `${kind} ${name}` : `${kind} ${service}/${name}`;
}

type Named = Omit<ObjectDocument, "spec">;

/** Whether another object has its name, or another service that of its service. */
export function hasTwin(one: Named, all: readonly Named[]): boolean {
  const isShared = (title: string) => all.filter((other) => titleOf(other) === title).length > 1;
  const { service } = one;
  if (isShared(titleOf(one))) return true;
  return service !== undefined && isShared(titleOf({ kind: "Service", name: service, service: undefined }));
}

/** The objects of files and folders, in the order in which they depend on one another. Mistakes name file and line. */
export async function readWanted(
  shell: Shell,
  files: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<WantedObject[]> {
  const wanted: WantedObject[] = [];
  for (const file of files.flatMap((name) => filesOf(shell.io.cwd, name))) {
    for (const document of await readDocuments(shell, file, variables)) wanted.push(objectOf(document));
  }
  // An empty file is rather a generator that failed than a wish, and `--prune` would delete everything.
  if (wanted.length === 0) throw usageError(`${files.join(", ")}: has no document`);
  refuseTwice(wanted);
  return objectKinds.flatMap((kind) => wanted.filter((one) => one.kind === kind));
}

function filesOf(cwd: string, name: string): string[] {
  if (name === "-") return [name];
  const found = statSync(resolve(cwd, name), { throwIfNoEntry: false });
  if (found === undefined) throw usageError(`there is no file ${name}`);
  if (!found.isDirectory()) return [name];
  const files = readdirSync(resolve(cwd, name), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => /\.(ya?ml|json)$/.test(file))
    .toSorted()
    .map((file) => join(name, file));
}

const members = ["kind", "name", "id", "service", "spec"];
const withService: readonly ObjectKind[] = ["Pipe", "Source", "BackupSchedule"];

function objectOf(file: FileDocument): WantedObject {
  const { value, placeOf } = file;
  const unknown = Object.keys(value).find((key) => !members.includes(key));
  if (unknown !== undefined) throw fileError(placeOf([unknown]), unknownText(unknown, members));
  const kind = objectKinds.find((one) => one === value.kind);
  if (kind === undefined) throw fileError(placeOf(["kind"]), unknownText(String(value.kind), objectKinds, "kind"));
  const service = textMember(file, "service", withService.includes(kind));
  const name = textMember(file, "name", kind !== "BackupSchedule") ?? String(service);
  if (typeof value.spec !== "object" || value.spec === null || Array.isArray(value.spec))
    throw fileError(placeOf(["spec"]), "spec must be a mapping");
  const [missing] = file.missing.filter(({ path }) => !isSecretPath(path.replace(/^spec\./, "")));
  if (missing !== undefined) throw fileError(placeOf(missing.path.split(".")), missing.message);
  const spec = value.spec as Readonly<Record<string, unknown>>;
  return { kind, name, service, spec, id: textMember(file, "id", false), file };
}

function textMember({ value, placeOf }: FileDocument, name: string, required: boolean): string | undefined {
  const text = value[name];
  if (text === undefined && !required) return undefined;
  if (typeof text !== "string" || text === "")
    throw fileError(placeOf([name]), `${name} ${text === undefined ? "is required" : "must be a text"}`);
  return text;
}

function unknownText(name: string, known: readonly string[], what = "member"): string {
  const [near] = nearMatches(name, known);
  const remedy = near === undefined ? `known: ${known.join(", ")}` : `did you mean ${near}?`;
  return `${name} is not a known ${what}; ${remedy}`;
}

/** Members that the API never shows. */
export function isSecretPath(path: string): boolean {
  // The last three are members of webhooks.
  if (/^(connection\.password|url|headers|queryParams)$/.test(path)) return true;
  return sourceKindKeys.some((key) =>
    sourceDescriptions[key].secrets.some((secret) => `${path}.`.includes(`source.${key}.${secret}.`)),
  );
}

/** Whether a specification has such a member. */
export function hasSecrets(spec: unknown, path = ""): boolean {
  if (path !== "" && isSecretPath(path)) return true;
  if (typeof spec !== "object" || spec === null) return false;
  return Object.entries(spec).some(([name, member]) => hasSecrets(member, path === "" ? name : `${path}.${name}`));
}

function refuseTwice(wanted: readonly WantedObject[]): void {
  const seen = new Map<string, WantedObject>();
  for (const one of wanted) {
    const title = titleOf(one);
    const identity = `${title} ${one.id}`;
    const before = seen.get(identity);
    if (before !== undefined) {
      throw fileError(one.file.placeOf(["name"]), `${title} is in ${before.file.placeOf(["name"])} too`);
    }
    seen.set(identity, one);
  }
}
