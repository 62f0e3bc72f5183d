/** Checks responses against the OpenAPI document of the ClickHouse Cloud API that this server publishes. */
import { z } from "zod";
import { cloudApiDocument } from "../src/cloud-api/openapi.ts";

type Schema = { readonly [name: string]: unknown };
type Operation = { readonly responses: Readonly<Record<string, { readonly content?: Content }>> };
type Content = { readonly "application/json"?: { readonly schema: Schema } };

const document = cloudApiDocument("0.0.0", "/cloud") as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Schema };
};
const schemas = new Map<string, z.ZodType>();

/** Problems of a response to a request of the dialect, as sentences. `path` begins with `/v1`, without a query. */
export function responseProblems(method: string, path: string, status: number, body: unknown): string[] {
  const found = operationOf(method, path);
  if (found === undefined) return [];
  const { name, operation } = found;
  const response = operation.responses[status] ?? operation.responses.default;
  if (response?.content === undefined) return [`${name}: no response ${status} in the document`];
  const json = response.content["application/json"];
  if (json === undefined) return [];
  const key = `${name} ${status}`;
  const schema = schemas.get(key) ?? compiled(json.schema);
  schemas.set(key, schema);
  const parsed = schema.safeParse(body);
  if (parsed.success) return [];
  return parsed.error.issues.map(({ path: at, message }) => `${key} ${at.map(String).join(".")}: ${message}`);
}

function operationOf(method: string, path: string): { name: string; operation: Operation } | undefined {
  const segments = path.replace(/\/$/, "").split("/");
  for (const [template, methods] of Object.entries(document.paths)) {
    const operation = methods[method.toLowerCase()];
    const names = template.split("/");
    if (operation === undefined || names.length !== segments.length) continue;
    const holds = names.every((name, index) => name.startsWith("{") || name === segments[index]);
    if (holds) return { name: `${method} ${template}`, operation };
  }
  return undefined;
}

function compiled(schema: Schema): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")));
}
