/** The addresses to which applications send rows, for the OpenAPI document: no operations, since bodies are bytes. */

type Document = Record<string, unknown>;

/** The short address of a push pipe, which ends in its id. */
export const pushAddress = "/v1/push/";

const uuid = { type: "string", format: "uuid" };
const bytes = { schema: { type: "string", contentMediaType: "application/octet-stream" } };
const objectOf = (properties: Document, required: readonly string[]): Document => ({
  type: "object",
  properties,
  required,
});
const whole = { type: "integer" };
const accepted = objectOf(
  {
    ...{ status: { type: "integer", enum: [200, 202] }, requestId: uuid },
    result: objectOf({ offset: whole, rows: whole, repeated: { type: "boolean", const: true } }, ["offset", "rows"]),
  },
  ["status", "requestId", "result"],
);
const status = objectOf({ code: whole, message: { type: "string" } }, ["code", "message"]);
const partial = objectOf({ partialSuccess: { type: "object" } }, []);

const of = (type: string, schema: Document): Document => ({ [type]: { schema } });
const telemetryTypes = (schema: Document): Document => ({
  ...of("application/json", schema),
  "application/x-protobuf": bytes,
});
const parameter = (name: string, place: string, schema: Document): Document => ({
  ...{ name, in: place, required: place === "path", schema },
});
const key = parameter("Idempotency-Key", "header", { type: "string", minLength: 1, maxLength: 255 });

/** By path. Errors are those of the management API, and `google.rpc.Status` for telemetry. */
export function pushPaths(error: Document): Record<string, { readonly post: Document }> {
  const roots = [
    [`${pushAddress}{pipeId}`, "pushRows", "pushTelemetry"],
    [
      "/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/events",
      "pushPipeRows",
      "pushPipeTelemetry",
    ],
  ] as const;
  return Object.fromEntries(
    roots.flatMap(([path, rows, telemetry]) => {
      const owners = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter(name as string, "path", uuid));
      const wait = parameter("wait", "query", { type: "string", enum: ["true", "false"] });
      const signal = parameter("signal", "path", { type: "string", enum: ["traces", "metrics", "logs"] });
      const summary = "Sends rows to a push pipe; they are durable when this is answered";
      const otlp = "Sends telemetry to a push pipe with the format otlp, as OpenTelemetry over HTTP";
      return [
        [
          path,
          post(rows, summary, [...owners, wait, key], {
            body: { "*/*": bytes },
            answers: {
              200: {
                description: "With `wait=true`: the rows are in the table",
                content: of("application/json", accepted),
              },
              202: { description: "The rows are durable", content: of("application/json", accepted) },
            },
            error: of("application/json", error),
          }),
        ],
        [
          `${path}/v1/{signal}`,
          post(telemetry, otlp, [...owners, signal, key], {
            body: telemetryTypes({ type: "object" }),
            answers: { 200: { description: "The telemetry is durable", content: telemetryTypes(partial) } },
            error: telemetryTypes(status),
          }),
        ],
      ];
    }),
  );
}

type Contents = { readonly body: Document; readonly answers: Document; readonly error: Document };

function post(operationId: string, summary: string, parameters: Document[], { body, answers, error }: Contents) {
  const refusals = [
    [401, "Missing or invalid key or signature"],
    [403, "The key belongs to another pipe, or the origin of the page is not allowed"],
    [429, "The inbox is full, or the key is above its limits; `Retry-After` says when to come back"],
    ["default", "Another error: nothing was kept"],
  ] as const;
  const post = {
    ...{ operationId, tags: ["Push"], summary, parameters },
    description: "Required role: `push` for this pipe, or `developer` or higher. A signed webhook needs no key.",
    security: [{ basic: [] }, { bearer: [] }, {}],
    requestBody: { required: true, content: body },
    responses: {
      ...answers,
      ...Object.fromEntries(refusals.map(([code, description]) => [code, { description, content: error }])),
    },
  };
  return { post };
}
