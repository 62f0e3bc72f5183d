/** The OpenAPI 3.1 document of both APIs, derived from the operation tables. */
import { z } from "zod";
import { errorCodes } from "../lib/errors.ts";
import { requestExamples } from "./examples.ts";
import { type Operation, roleOf } from "./operation.ts";
import { pushPaths } from "./sent-rows.ts";

type Document = Record<string, unknown>;

export function openApiDocument(tables: {
  management: Record<string, Operation>;
  observability: Record<string, Operation>;
  version: string;
}): Document {
  const paths: Record<string, Record<string, Document>> = {};
  const components: Components = { ManagementError: managementError, ObservabilityError: observabilityError };
  const add = (name: "management" | "observability", table: Record<string, Operation>) => {
    for (const [operationId, operation] of Object.entries(table)) {
      paths[operation.path] ??= {};
      (paths[operation.path] as Record<string, Document>)[operation.method.toLowerCase()] = operationDocument(
        name,
        operationId,
        operation,
        components,
      );
    }
  };
  add("management", tables.management);
  add("observability", tables.observability);
  Object.assign(paths, pushPaths(reference("ManagementError")));
  return {
    openapi: "3.1.1",
    info: {
      title: "Millrace",
      version: tables.version,
      description:
        "The management API (`/v1`) manages services, pipes and backups. The observability API (`/api/v2`) serves chart series.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: [
      ...new Set([...Object.values({ ...tables.management, ...tables.observability }).map((o) => o.tag), "Push"]),
    ].map((name) => ({ name })),
    paths,
    components: { securitySchemes, schemas: components },
  };
}

const securitySchemes = {
  basic: { type: "http", scheme: "basic", description: "Key id and key secret." },
  bearer: { type: "http", scheme: "bearer", description: "An access token." },
};

const codes = { type: "string", enum: Object.keys(errorCodes) };
const issues = {
  type: "array",
  items: {
    type: "object",
    properties: {
      path: { type: "string" },
      message: { type: "string" },
      position: { type: "integer", description: "Offset of the mistake in the text at `path`, in UTF-16 units" },
      statement: { type: "string", description: "SQL that makes the table fit" },
    },
    required: ["path", "message"],
  },
};

const managementError = {
  type: "object",
  properties: {
    status: { type: "integer" },
    requestId: { type: "string", format: "uuid" },
    error: { type: "string", description: "`CODE_WORD: sentence`" },
    code: codes,
    issues,
    engine: {
      type: "object",
      description: "Code and name of the engine's error, if the engine refused a statement of the caller",
      properties: { code: { type: "integer" }, name: { type: "string" } },
      required: ["code", "name"],
    },
  },
  required: ["status", "requestId", "error", "code"],
};

const observabilityError = {
  type: "object",
  properties: { message: { type: "string" }, error: { type: "string" }, code: codes, issues },
  required: ["message", "error", "code"],
};

const ifNoneMatch = {
  name: "If-None-Match",
  in: "header",
  required: false,
  description: "Entity tags of responses that the caller has cached; weak comparison",
  schema: { type: "string" },
};

const ifMatch = {
  name: "If-Match",
  in: "header",
  required: false,
  description: "Entity tag or version of the object: the change applies to this version only",
  schema: { type: "string" },
};

const tagged = { ETag: { description: "A weak entity tag of the result", schema: { type: "string" } } };
const linked = {
  Link: {
    description: 'The next page, with `rel="next"` (RFC 8288); absent on the last one',
    schema: { type: "string" },
  },
};
const notModified = { 304: { description: "Not modified since the response with this entity tag", headers: tagged } };

function operationDocument(
  name: "management" | "observability",
  operationId: string,
  operation: Operation,
  components: Components,
): Document {
  const managed = name === "management";
  const isTagged =
    operation.method === "GET" && operation.streams === undefined && (managed || operation.storedOnly === true);
  return {
    operationId,
    tags: [operation.tag],
    summary: operation.summary,
    description: `Required role: \`${roleOf(operation.access)}\` or higher.`,
    security: [managed ? { basic: [] } : { bearer: [] }],
    parameters: [
      ...parameters("path", operation.params, components),
      ...parameters("query", operation.query, components),
      ...(isTagged ? [ifNoneMatch] : []),
      ...(operation.versioned === true ? [ifMatch] : []),
    ],
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: named(`${operationId}Request`, jsonSchema(operation.body, "input", components), components),
                examples: examplesOf(operationId),
              },
            },
          },
        }),
    responses: {
      200: {
        description: operation.streams ?? "Success",
        ...(isTagged ? { headers: { ...tagged, ...(operation.linked === true ? linked : {}) } } : {}),
        content:
          operation.streams === undefined
            ? { "application/json": { schema: success(managed, operationId, operation, components) } }
            : { "*/*": { schema: { type: "string", contentMediaType: "application/octet-stream" } } },
      },
      ...(isTagged ? notModified : {}),
      ...refusals(operation, managed),
    },
  };
}

function examplesOf(operationId: string): Document {
  const examples = requestExamples[operationId] ?? [];
  return Object.fromEntries(examples.map(({ title, body }) => [title, { value: body }]));
}

/** The errors that any operation of this shape may return, and all others. */
function refusals(operation: Operation, managed: boolean): Document {
  const error = managed ? "ManagementError" : "ObservabilityError";
  const content = { "application/json": { schema: reference(error) } };
  const statuses: [number | "default", string, boolean][] = [
    [400, "A member of the request is invalid; `issues` lists every problem", operation.body !== undefined],
    [401, "Missing or invalid credentials", true],
    [403, "The role does not permit the operation", true],
    [404, "The object named in the path does not exist", true],
    [412, "The object has another version than `If-Match`; `issues` has both", operation.versioned === true],
    [429, "Too many requests, or too many failed logins", true],
    ["default", "Another error; see `code`", true],
  ];
  return Object.fromEntries(
    statuses.filter(([, , holds]) => holds).map(([status, description]) => [status, { description, content }]),
  );
}

function success(managed: boolean, operationId: string, operation: Operation, components: Components): Document {
  const result =
    operation.result === undefined
      ? undefined
      : named(`${operationId}Result`, jsonSchema(operation.result, "output", components), components);
  if (!managed) return result ?? {};
  return {
    type: "object",
    properties: {
      status: { type: "integer", const: 200 },
      requestId: { type: "string", format: "uuid" },
      ...(result === undefined ? {} : { result }),
    },
    required: ["status", "requestId", ...(result === undefined ? [] : ["result"])],
  };
}

function parameters(where: "path" | "query", schema: z.ZodObject | undefined, components: Components): Document[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, "input", components) as {
    properties?: Record<string, Document>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: where === "path" || required.includes(name),
    schema: property,
  }));
}

/** A schema with an id in its metadata becomes a named component, referenced wherever it is used. */
function jsonSchema(schema: z.ZodType, io: "input" | "output", components: Components): Document {
  const made = z.toJSONSchema(schema, { io, unrepresentable: "any", reused: "inline" });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $schema: _, $defs, ...document } = JSON.parse(text) as Document & { $defs?: Components };
  for (const [name, definition] of Object.entries($defs ?? {})) components[name] = withoutId(definition);
  const name = z.globalRegistry.get(schema)?.id;
  if (name === undefined || document.$ref !== undefined) return document;
  components[name] = withoutId(document);
  return reference(name);
}

/** Longer schemas are components, so that generated clients have types with names. */
const inlineLength = 250;

/** The schema, or a reference to a component named after the operation. */
function named(operationName: string, schema: Document, components: Components): Document {
  if (JSON.stringify(schema).length <= inlineLength) return schema;
  const name = `${operationName.charAt(0).toUpperCase()}${operationName.slice(1)}`;
  components[name] = schema;
  return reference(name);
}

function reference(name: string): Document {
  return { $ref: `#/components/schemas/${name}` };
}

type Components = Record<string, Document>;

function withoutId({ id: _, ...definition }: Document): Document {
  return definition;
}
