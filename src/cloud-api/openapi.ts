/** The OpenAPI document of the dialect, derived from ours by the data of the dialect. */
import { z } from "zod";
import { openApiDocument } from "../api/openapi.ts";
import type { Operation } from "../api/operation.ts";
import { acceptedMembers, addedMembers, type CloudForm, optionalMembers, renames } from "./dialect.ts";
import { cloudNames, sentenceInTheirs, toTheirs } from "./names.ts";
import { cloudRoutes } from "./routes.ts";

type Schema = { [name: string]: unknown };

/** `prefix` stands before `/v1`. */
export function cloudApiDocument(version: string, prefix: string): Schema {
  const management = Object.fromEntries(cloudRoutes.map((route) => [route.id, documented(route)]));
  const document = inTheirs(openApiDocument({ management, observability: {}, version })) as Schema;
  addMembers(document);
  const description = `The part of the ClickHouse Cloud API that this server has; see docs/compat.md. Every request needs a key.`;
  const info = { ...(document.info as Schema), title: "Millrace: ClickHouse Cloud API", description };
  return { ...document, info, servers: [{ url: prefix === "" ? "/" : prefix }] };
}

function documented({ operation, method, path, query, body, result }: (typeof cloudRoutes)[number]): Operation {
  const { tag, summary, access, params, versioned, streams } = operation;
  return {
    ...{ method, path, tag, summary, access, params },
    ...(versioned === undefined ? {} : { versioned }),
    ...(streams === undefined ? {} : { streams }),
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body: body.schema }),
    ...(result === undefined ? {} : { result: result.schema }),
  };
}

/** Names of members and words of sentences; everything else is the same in both. */
function inTheirs(value: unknown, holds: "schema" | "members" = "schema"): unknown {
  if (Array.isArray(value)) return value.map((item) => inTheirs(item));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([name, member]) => {
    if (holds === "members") return [cloudNames[name] ?? name, inTheirs(member)];
    if (name === "properties") return [name, inTheirs(member, "members")];
    if (name === "required" && Array.isArray(member)) return [name, member.map((one) => cloudNames[one] ?? one)];
    if (["description", "summary"].includes(name) && typeof member === "string")
      return [name, sentenceInTheirs(member)];
    return [name, inTheirs(member)];
  });
  return Object.fromEntries(entries);
}

function addMembers(document: Schema): void {
  const operations = new Map(
    Object.values(document.paths as Schema).flatMap((path) =>
      Object.values(path as Schema).map((one) => [(one as Schema).operationId, one as Schema] as const),
    ),
  );
  for (const { id, body: request, result } of cloudRoutes) {
    const operation = operations.get(id) as Schema;
    if (request?.form !== undefined) renameExamples(operation.requestBody, request.form);
    const body = contentOf(operation.requestBody);
    for (const { path, value } of acceptedMembers[id] ?? []) addMember(document, body, path, schemaOf(value));
    if (result?.form === undefined) continue;
    const answer = contentOf((operation.responses as Schema)[200]);
    const at = ["result", ...(result.at === "" ? [] : result.at.split("."))].join(".");
    for (const record of schemasAt(document, answer, at)) adaptRecord(document, record, result.form);
  }
}

function adaptRecord(document: Schema, record: Schema, form: CloudForm): void {
  for (const [name, value] of Object.entries(addedMembers[form] ?? {}))
    addMember(document, record, name, schemaOf(value));
  const optional = optionalMembers[form] ?? [];
  if (Array.isArray(record.required)) record.required = record.required.filter((name) => !optional.includes(name));
  // A pipe shows the settings that a request may set.
  for (const { keptAt, value } of Object.values(acceptedMembers).flat()) {
    if (keptAt === undefined) continue;
    const belongs = keptAt.includes(".") ? form === "pipe" : form === "service";
    if (belongs) addMember(document, record, keptAt, schemaOf(value));
    const inSettings = renames.settings !== undefined && form === "settings" && keptAt.startsWith("settings.");
    if (inSettings) addMember(document, record, keptAt.slice("settings.".length), schemaOf(value));
  }
}

function renameExamples(requestBody: unknown, form: CloudForm): void {
  const { content } = requestBody as {
    content: { "application/json": { examples: Record<string, { value: unknown }> } };
  };
  for (const example of Object.values(content["application/json"].examples)) {
    example.value = toTheirs(example.value, form);
  }
}

/** The schema of JSON content; empty without any. */
function contentOf(part: unknown): Schema {
  const content = (part as { content?: Record<string, { schema?: Schema }> } | undefined)?.content;
  return content?.["application/json"]?.schema ?? {};
}

function schemaOf(value: z.ZodType): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(value, { unrepresentable: "any", io: "input" }) as Schema;
  return schema;
}

function addMember(document: Schema, root: Schema, path: string, schema: Schema): void {
  const names = path.split(".");
  const last = names.pop() as string;
  for (const holder of schemasAt(document, root, names.join("."))) {
    const properties = holder.properties as Schema | undefined;
    if (properties !== undefined) properties[last] ??= schema;
  }
}

/** The schemas of objects at a path of members; `*` stands for the elements of a list. */
function schemasAt(document: Schema, root: Schema, path: string): Schema[] {
  const names = path === "" ? [] : path.split(".");
  return names.reduce<Schema[]>(
    (holders, name) => {
      const inner = holders.map((holder) =>
        name === "*" ? holder.items : (holder.properties as Schema | undefined)?.[name],
      );
      return inner.flatMap((schema) => variantsOf(document, schema));
    },
    variantsOf(document, root),
  );
}

/** What a schema refers to, and the members of its alternatives. */
function variantsOf(document: Schema, schema: unknown): Schema[] {
  if (schema === undefined) return [];
  const { $ref, anyOf, allOf, oneOf } = schema as { $ref?: string; anyOf?: []; allOf?: []; oneOf?: [] };
  if ($ref !== undefined) {
    const name = $ref.split("/").at(-1) as string;
    return variantsOf(document, ((document.components as Schema).schemas as Schema)[name]);
  }
  const alternatives = anyOf ?? allOf ?? oneOf;
  if (alternatives === undefined) return [schema as Schema];
  return alternatives.flatMap((one) => variantsOf(document, one));
}
