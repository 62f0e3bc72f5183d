/** The flags of the kinds of sources: each sets the member of a field. */
import type { Command } from "commander";
import { type SourceKindKey, sourceDescriptions } from "../../sources/contract/descriptions.ts";
import { isSecretMember, type SourceField } from "../../sources/contract/fields.ts";
import { usageError } from "../errors.ts";
import { integerFlag, pairFlag, repeated } from "../flags.ts";
import type { Shell } from "../shell.ts";

/** Adds the flags of a kind. */
export function addSourceFlags(command: Command, kind: SourceKindKey): Command {
  for (const { flag, input } of sourceDescriptions[kind].fields) {
    if (flag === undefined) continue;
    const [name, help] = flag;
    if (input === "tables") command.option(name, help, repeated);
    else command.option(name, input === "secret" ? `File with ${help}; - reads stdin` : help);
  }
  return command.option("--set <path=value>", "Any other member of the source; may be repeated", repeated);
}

/** The source of the flags. Secrets are read from files, or from `${env:X}` in `--set`. */
export async function sourceFromFlags(
  shell: Shell,
  kind: SourceKindKey,
  flags: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const source: Record<string, unknown> = {};
  for (const { flag, path, input } of sourceDescriptions[kind].fields) {
    if (flag === undefined) continue;
    const [name] = flag[0].split(" ") as [string];
    const given = flags[attributeOf(name)];
    // `--no-tls` is the attribute `tls`, which is true unless the flag is there.
    const value = name.startsWith("--no-") ? (given === false ? true : undefined) : given;
    if (value !== undefined) setMember(source, path, await flagValue(shell, name, input, value));
  }
  for (const pair of (flags.set ?? []) as readonly string[]) {
    const [path, value] = pairFlag("--set", pair);
    setMember(source, path, await settingValue(shell, kind, path, value));
  }
  return source;
}

/** `--secret-key-file` -> `secretKeyFile`, as the parser names it. */
function attributeOf(flag: string): string {
  const name = flag.replace(/^--(no-)?/, "");
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

async function flagValue(shell: Shell, name: string, input: SourceField["input"], value: unknown): Promise<unknown> {
  switch (input) {
    case "number":
      return integerFlag(name, String(value));
    case "area":
      return await shell.read(String(value));
    case "secret":
      return await shell.secret(String(value));
    case "tables":
      return (value as readonly string[]).map((given) => tableMappingOf(name, given));
    default:
      return value;
  }
}

type TableMapping = Readonly<Record<"sourceSchemaName" | "sourceTable" | "targetTable", string>>;

/** Throws a usage error that names the flag. */
export function tableMappingOf(flag: string, given: string): TableMapping {
  const [, schema, table, target] = /^([^.=]+)\.([^=]+?)(?:=(.+))?$/.exec(given) ?? [];
  if (schema === undefined || table === undefined) {
    throw usageError(`${flag} ${given}: must be schema.table or schema.table=target`);
  }
  return { sourceSchemaName: schema, sourceTable: table, targetTable: target ?? table };
}

async function settingValue(shell: Shell, kind: SourceKindKey, path: string, value: string): Promise<unknown> {
  const name = /^\$\{env:(\w+)\}$/.exec(value)?.[1];
  const file = /^\$\{file:(.+)\}$/.exec(value)?.[1];
  if (file !== undefined) return await shell.secret(file);
  if (name !== undefined) {
    const found = shell.io.env[name];
    if (found === undefined) throw usageError(`--set ${path}: the environment has no ${name}`);
    return found;
  }
  if (isSecretMember(sourceDescriptions[kind], path)) {
    throw usageError(
      `--set ${path}: other users see the flags of a command`,
      `--set '${path}=\${env:NAME}' or \${file:PATH}`,
    );
  }
  const { parse } = await import("yaml");
  return parse(value);
}

function setMember(target: Record<string, unknown>, path: string, value: unknown): void {
  const [name, ...rest] = path.split(".") as [string, ...string[]];
  if (rest.length === 0) target[name] = value;
  else {
    const inner = (target[name] ?? {}) as Record<string, unknown>;
    setMember(inner, rest.join("."), value);
    target[name] = inner;
  }
}
