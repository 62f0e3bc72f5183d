import { expect, test } from "vitest";
import { openApiDocument } from "./openapi.ts";
import { managementOperations, observabilityOperations } from "./operations.ts";

type Media = { readonly schema: object };
type Body = { readonly content?: { readonly "application/json"?: Media } };
type Described = {
  readonly operationId: string;
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
};

const document = openApiDocument({
  management: managementOperations,
  observability: observabilityOperations,
  version: "0.0.0",
}) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
};

const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

test("no operation holds a large schema inline", () => {
  const bodies = operations.flatMap(({ operationId, requestBody, responses }) =>
    [requestBody, ...Object.values(responses)].map((body) => ({
      operationId,
      length: JSON.stringify(body?.content?.["application/json"]?.schema ?? {}).length,
    })),
  );
  expect(bodies.filter(({ length }) => length > 450)).toEqual([]);
});

test("every reference has its component, and every component is referenced", () => {
  const references = new Set(
    [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name),
  );
  expect([...references].sort()).toEqual(Object.keys(document.components.schemas).sort());
});
