/** A JSON Schema as rows of a table: one row per member, nested members under their path. */

export type Field = {
  /** `source.objectStorage.url`; `columns[].name` for members of the elements of a list. */
  readonly path: string;
  /** Words and values, for example `integer, 1 to 10` or `"start" or "stop"`. */
  readonly type: string;
  readonly required: boolean;
  readonly default: string | undefined;
  readonly meaning: string;
};

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly $defs?: Readonly<Record<string, Schema>>;
};

/** Deeper members of recursive schemas are left out. */
const maxDepth = 8;
/** Bounds that mean "any integer" are omitted. */
const anyInteger = Number.MAX_SAFE_INTEGER;

/** Rows in the order of the schema; parents before their members. */
export function schemaFields(document: unknown): Field[] {
  const root = document as Schema;
  const fields: Field[] = [];
  const resolve = (schema: Schema): Schema => {
    const name = schema.$ref?.split("/").at(-1);
    const target = name === undefined ? undefined : root.$defs?.[name];
    return target === undefined ? schema : { ...target, ...without(schema, "$ref") };
  };
  const walk = (given: Schema, path: string, required: boolean, depth: number): void => {
    const schema = resolve(given);
    const variants = variantsOf(schema).map(resolve);
    if (path !== "") {
      const row = { path, required, type: typeOf(schema, resolve), meaning: schema.description ?? "" };
      fields.push({ ...row, default: schema.default === undefined ? undefined : JSON.stringify(schema.default) });
    }
    if (depth >= maxDepth) return;
    for (const variant of variants) walkMembers(variant, path, depth);
  };
  const walkMembers = (schema: Schema, path: string, depth: number): void => {
    const known = new Set(fields.map((field) => field.path));
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      const memberPath = path === "" ? name : `${path}.${name}`;
      // Variants of a schema share most of their members.
      if (known.has(memberPath)) continue;
      walk(member, memberPath, schema.required?.includes(name) === true, depth + 1);
    }
    if (schema.items !== undefined) {
      for (const variant of variantsOf(resolve(schema.items)).map(resolve))
        walkMembers(variant, `${path}[]`, depth + 1);
    }
    if (typeof schema.additionalProperties === "object") {
      walkMembers(resolve(schema.additionalProperties), `${path}.*`, depth + 1);
    }
  };
  walk(root, "", true, 0);
  return fields;
}

/** The alternatives of a union, without null, or all parts of an intersection. */
function variantsOf(schema: Schema): readonly Schema[] {
  const given = schema.anyOf ?? schema.oneOf;
  const parts = schema.allOf ?? [];
  if (given === undefined) return [schema, ...parts];
  return [schema, ...parts, ...given.filter((variant) => variant.type !== "null").flatMap(variantsOf)];
}

function typeOf(schema: Schema, resolve: (schema: Schema) => Schema): string {
  const given = schema.anyOf ?? schema.oneOf;
  if (given !== undefined) return [...new Set(given.map((variant) => typeOf(resolve(variant), resolve)))].join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.type === "array") {
    const element = schema.items === undefined ? "anything" : typeOf(resolve(schema.items), resolve);
    return withBounds(`list of ${element}`, schema.minItems, schema.maxItems, " elements");
  }
  const word = Array.isArray(schema.type) ? schema.type.join(" or ") : (schema.type as string | undefined);
  if (word === "string") return withBounds(stringWord(schema), schema.minLength, schema.maxLength, " characters");
  if (word === "integer" || word === "number") return withBounds(word, schema.minimum, schema.maximum, "");
  if (word === undefined && schema.properties === undefined) return "anything";
  return word ?? "object";
}

function stringWord({ format }: Schema): string {
  return format === undefined ? "string" : `string (${format})`;
}

function withBounds(word: string, least: number | undefined, most: number | undefined, unit: string): string {
  const from = least === undefined || least <= -anyInteger ? undefined : least;
  const to = most === undefined || most >= anyInteger ? undefined : most;
  if (from === undefined && to === undefined) return word;
  if (from === undefined || (from === 0 && unit !== ""))
    return to === undefined ? word : `${word}, at most ${to}${unit}`;
  return to === undefined ? `${word}, at least ${from}${unit}` : `${word}, ${from} to ${to}${unit}`;
}

function without<T extends object, K extends keyof T>(value: T, key: K): Omit<T, K> {
  const { [key]: _, ...rest } = value;
  return rest;
}
