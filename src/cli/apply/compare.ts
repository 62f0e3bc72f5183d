/** Differences between a wanted object and the one that exists, field by field. */
import { defaultRuntime } from "../../api/runtimes.ts";
import { isSecretPath } from "./files.ts";

export type Change = { readonly path: string; readonly from: unknown; readonly to: unknown };

export type Comparison = { readonly changes: readonly Change[]; readonly secrets: readonly string[] };

/** The server's defaults of absent members. */
const defaults: Readonly<Record<string, unknown>> = {
  "destination.database": "default",
  "destination.managedTable": true,
  fieldMappings: [],
  runtime: defaultRuntime,
  tags: [],
  kind: "table",
};

/** Members that say only how an object begins. */
const creationOnly: ReadonlySet<string> = new Set(["startPaused"]);

/** Members that the file names are compared; the others stay as they are. Secrets are only named. */
export function compareSpecs(
  wanted: Readonly<Record<string, unknown>>,
  current: Readonly<Record<string, unknown>>,
): Comparison {
  const changes: Change[] = [];
  const secrets = new Set<string>();
  const visit = (path: readonly string[], to: unknown, from: unknown): void => {
    const name = path.join(".");
    if (creationOnly.has(name)) return;
    if (isSecretPath(name)) {
      secrets.add(name.replace(/((?:credentials|accessKey|connectionString)).*$/, "$1"));
    } else if (isRecord(to)) {
      for (const [key, member] of Object.entries(to))
        visit([...path, key], member, isRecord(from) ? from[key] : undefined);
    } else if (!same(to, from ?? defaults[name])) changes.push({ path: name, from, to });
  };
  visit([], wanted, current);
  return { changes, secrets: [...secrets] };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A time that the server may write in another form. */
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?(Z|[+-]\d\d:\d\d)$/;

/** Null and absence are the same, and so are members with the server's defaults in lists, and forms of one time. */
function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(canonical(a)) === JSON.stringify(canonical(b));
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value === "string" && instant.test(value) && !Number.isNaN(Date.parse(value))) return Date.parse(value);
  if (!isRecord(value)) return value ?? null;
  const kept = Object.entries(value).filter(
    ([key, member]) => member != null && !(key === "description" && member === ""),
  );
  return Object.fromEntries(
    kept.toSorted(([x], [y]) => (x < y ? -1 : 1)).map(([key, member]) => [key, canonical(member)]),
  );
}
