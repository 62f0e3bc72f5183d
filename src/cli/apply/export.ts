/** Existing objects as documents for `apply`. */
import { kindKeyOf, sourceDescriptions } from "../../sources/contract/descriptions.ts";
import { holds, memberAt } from "../../sources/contract/fields.ts";
import { type CurrentObject, hasTwin, titleOf } from "./files.ts";

type Spec = Record<string, unknown>;

/**
 * The documents of `chosen`, which are some of `existing`. An object whose name is not its own has its id, and that of
 * its service. Secrets are references to variables of the environment, none of which is of two objects.
 */
export function exported(chosen: readonly CurrentObject[], existing: readonly CurrentObject[]): object[] {
  const prefixOf = variablePrefixes(existing);
  return chosen.map((one) => {
    const { kind, name, id, service, serviceId, spec } = one;
    const isTwin = hasTwin(one, existing);
    return {
      kind,
      ...(kind === "BackupSchedule" ? {} : { name }),
      ...(isTwin ? { id } : {}),
      ...(service === undefined ? {} : { service: isTwin ? serviceId : service }),
      spec: withVariables[kind]?.(prefixOf(one), spec as Spec) ?? spec,
    };
  });
}

const withVariables: { readonly [kind in CurrentObject["kind"]]?: (prefix: string, spec: Spec) => Spec } = {
  Service: serviceSpec,
  Pipe: pipeSpec,
  Webhook: (prefix, spec) => ({ ...spec, url: `\${env:${prefix}_URL}` }),
};

/** The port is the server's choice, and another server may need it for something else. */
function serviceSpec(prefix: string, { port: _, ...spec }: Spec): Spec {
  if (spec.connection === undefined) return spec;
  return { ...spec, connection: { ...(spec.connection as Spec), password: `\${env:${prefix}_PASSWORD}` } };
}

/** An object's name in the names of its variables, with kind, service and id as far as the name is not its own. */
function variablePrefixes(existing: readonly CurrentObject[]): (one: CurrentObject) => string {
  const named = existing.filter(
    ({ kind, spec }) => withVariables[kind] !== undefined && (kind !== "Service" || spec.connection !== undefined),
  );
  const texts = [
    ({ name }: CurrentObject) => name,
    (one: CurrentObject) => titleOf(one),
    (one: CurrentObject) => `${titleOf(one)} ${one.id}`,
  ];
  const forms = texts.map((text) => {
    const prefix = (one: CurrentObject) =>
      text(one)
        .toUpperCase()
        .replaceAll(/[^A-Z0-9]+/g, "_");
    return { prefix, alike: Map.groupBy(named, prefix) };
  });
  return (one) => {
    const form = forms.find(({ prefix, alike }) => alike.get(prefix(one))?.length === 1) ?? forms.at(-1);
    return form?.prefix(one) ?? "";
  };
}

function pipeSpec(prefix: string, spec: Spec): Spec {
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
      setMember(shown, path.split("."), `\${env:${[prefix, ...words.map(snake)].join("_")}}`);
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
