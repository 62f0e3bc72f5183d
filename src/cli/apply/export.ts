/** Existing objects as documents for `apply`. */
import type { CurrentObject } from "./current.ts";

type Spec = Record<string, unknown>;

/** The document of an object; secrets are references to variables of the environment. */
export function exported({ kind, name, service, spec }: CurrentObject): object {
  const shown =
    kind === "Pipe" ? pipeSpec(name, spec as Spec) : kind === "Service" ? serviceSpec(name, spec as Spec) : spec;
  if (kind === "BackupSchedule") return { kind, service, spec: shown };
  return service === undefined ? { kind, name, spec: shown } : { kind, name, service, spec: shown };
}

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
  const [[key, source] = ["", {}]] = Object.entries(spec.source as Record<string, Spec>);
  const prefix = variablePrefix(name);
  const member = (names: readonly string[]) =>
    Object.fromEntries(names.map((one) => [one, `\${env:${prefix}_${snake(one)}}`]));
  const secrets: Spec = { ...secretsOf(key, source, member) };
  const registry = source.schemaRegistry as Spec | undefined;
  if (registry?.authentication !== undefined) {
    secrets.schemaRegistry = { ...registry, credentials: member(["username", "password"]) };
  }
  return { ...spec, source: { [key]: { ...source, ...secrets } } };
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

function secretsOf(key: string, source: Spec, member: (names: readonly string[]) => Spec): Spec {
  const { authentication, iamRole } = source;
  if (authentication === "IAM_ROLE" || iamRole !== undefined) return {};
  const login = ["username", "password"];
  const access = ["accessKeyId", "secretKey"];
  switch (key) {
    case "relationalDb":
      return { credentials: member(login) };
    case "managedStream":
      return { accessKey: member(access) };
    case "objectStorage":
      if (source.connectionString !== undefined) return member(["connectionString"]);
      return authentication === "IAM_USER" ? { accessKey: member(access) } : {};
    default:
      if (authentication === undefined) return {};
      if (authentication === "IAM_USER") return { credentials: member(access) };
      if (authentication === "MUTUAL_TLS") return { credentials: member(["certificate", "privateKey"]) };
      return { credentials: member(login) };
  }
}
