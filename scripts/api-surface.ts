/**
 * The surface of both APIs as lines for a reviewer: an operation with its parameters, body and result, and below them
 * the named schemas. `!` marks what is required or always present. It says what clients can see, and no texts.
 */
import type { openApiDocument } from "../src/api/openapi.ts";

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
} & Readonly<Record<string, unknown>>;

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
type Parameter = { readonly name: string; readonly in: string; readonly required?: boolean; readonly schema: Schema };
type Described = {
  readonly operationId: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};

export function apiSurface(document: ReturnType<typeof openApiDocument>): string {
  const { paths, components } = document as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operationLines(`${method.toUpperCase()} ${path}`, operation),
    ),
  );
  const schemas = Object.entries(components.schemas).flatMap(([name, schema]) => memberLines(name, schema, ""));
  return `${[...operations, "", ...schemas].join("\n")}\n`;
}

function operationLines(title: string, { operationId, description, ...operation }: Described): string[] {
  const role = /Required role: `(\w+)`/.exec(description ?? "")?.[1] ?? "";
  const parameters = (operation.parameters ?? [])
    // Paths show theirs, and every GET of the management API takes If-None-Match.
    .filter((parameter) => parameter.in !== "path" && parameter.name !== "If-None-Match")
    .map(
      ({ name, in: place, required, schema }) => `  ${place} ${name}${required === true ? "!" : ""} ${brief(schema)}`,
    );
  const bodies = Object.entries(operation.requestBody?.content ?? {}).flatMap(([type, { schema }]) =>
    memberLines(titleOf("body", type), schema ?? {}, "  "),
  );
  const answers = Object.entries(operation.responses["200"]?.content ?? {}).flatMap(([type, { schema = {} }]) => {
    const result = schema.properties?.status === undefined ? schema : schema.properties.result;
    return result === undefined ? [] : memberLines(titleOf("result", type), result, "  ");
  });
  return [`${title} ${operationId} ${role}`.trimEnd(), ...parameters, ...bodies, ...answers];
}

function titleOf(what: string, type: string): string {
  return type === "application/json" ? what : `${what} ${type}`;
}

/** A line for the schema, and one for each member of an object, also of one in a list. */
function memberLines(name: string, schema: Schema, indent: string): string[] {
  const lines = [`${indent}${name} ${brief(schema)}`];
  for (const part of [schema, ...(schema.items === undefined ? [] : [schema.items]), ...variantsOf(schema)]) {
    for (const [member, value] of Object.entries(part.properties ?? {})) {
      const mark = part.required?.includes(member) === true ? "!" : "";
      lines.push(...memberLines(`${member}${mark}`, value, `${indent}  `));
    }
  }
  return lines;
}

function variantsOf({ anyOf, oneOf, allOf }: Schema): readonly Schema[] {
  return anyOf ?? oneOf ?? allOf ?? [];
}

/** What a value may be, in a few words. */
function brief(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, "");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.join("|");
  const variants = variantsOf(schema);
  if (variants.length > 0) return [...new Set(variants.map(brief))].join(" or ");
  if (schema.items !== undefined) return `list of ${brief(schema.items)}`;
  const type = [schema.type ?? "any"].flat().join(" or ");
  const bounds = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"].flatMap((bound) =>
    schema[bound] === undefined ? [] : [`${bound} ${schema[bound]}`],
  );
  return [type, ...(schema.format === undefined ? [] : [schema.format]), ...bounds].join(" ");
}
