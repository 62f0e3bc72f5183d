/** Existing objects as documents for `apply`. */
import { kindKeyOf, sourceDescriptions } from "../../sources/contract/descriptions.ts";
import { holds, memberAt } from "../../sources/contract/fields.ts";
import type { CurrentObject } from "./files.ts";

type Spec = Record<string, unknown>;

/** The document of an object; secrets are references to variables of the environment. */
export function exported({ kind, name, service, spec }: CurrentObject): object {
  const shown = Object.hasOwn(exportedSpecs, kind)
    ? exportedSpecs[kind as keyof typeof exportedSpecs](name, spec as Spec)
    : spec;
  if (kind === "BackupSchedule") return { kind, service, spec: shown };
  return service === undefined ? { kind, name, spec: shown } : { kind, name, service, spec: shown };
}

const exportedSpecs = {
  Service: serviceSpec,
  Pipe: pipeSpec,
  Webhook: (name: string, spec: Spec): Spec => ({ ...spec, url: `\${env:${variablePrefix(name)}_URL}` }),
};

/** The port is the server's choice, and another server may need it for something else. */
function serviceSpec(name: string, { port: _, ...spec }: Spec): Spec {
  if (spec.connection === undefined) return spec;
  const password = `\${env:${variablePrefix(name)}_PASSWORD}`;
  return { ...spec, connection: { ...(spec.connection as Spec), password } };
}

function variablePrefix(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
}

function pipeSpec(name: string, spec: Spec): Spec {
  const source = spec.source as Readonly<Record<string, Spec>>;
  const key = kindKeyOf(source);
  if (key === undefined) return spec;
  const shown = structuredClone(source[key] as Spec);
  const { logins, secrets } = sourceDescriptions[key];
  for (const { when, members } of logins) {
    if (!holds(when, (path) => memberAt(source[key] as Spec, path))) continue;
    for (const path of members) {
      // `credentials.username` of a pipe `clicks` is `CLICKS_USERNAME`.
      const container = secrets
        .find((secret) => path.startsWith(`${secret}.`))
        ?.split(".")
        .at(-1);
      const words = path.split(".").filter((word) => word !== container);
      setMember(shown, path.split("."), `\${env:${[variablePrefix(name), ...words.map(snake)].join("_")}}`);
    }
  }
  return { ...spec, source: { [key]: shown } };
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

function setMember(target: Spec, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length > 0) {
    target[name] ??= {};
    setMember(target[name] as Spec, rest, value);
  } else target[name] = value;
}
