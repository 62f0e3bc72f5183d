/** The requests of `docs/operations.md` exist, with their parameters and bodies. */
import { expect, test } from "vitest";
import { read } from "../../scripts/house.ts";
import type { Operation } from "../../src/api/operation.ts";
import { managementOperations } from "../../src/api/operations.ts";

const operations: readonly Operation[] = Object.values(managementOperations);
const root = "/v1/organizations/0/";

type Request = { readonly method: string; readonly path: string; readonly query: object; readonly body?: unknown };

function requestOf(line: string): Request {
  const address = /"(\$(?:URL|API)[^"]*)"/.exec(line)?.[1] ?? "";
  const data = /-d '(.*)'$/.exec(line)?.[1];
  const url = new URL(address.replace("$URL/", "/").replace("$API/", root), "http://server");
  const body = data === undefined ? undefined : JSON.parse(data.replace("'$GROUP'", "0123456789abcdef"));
  return {
    method: / -X (\w+)/.exec(line)?.[1] ?? (line.includes(" -d ") ? "POST" : "GET"),
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    ...(body === undefined ? {} : { body }),
  };
}

const lines = [...read("docs/operations.md").matchAll(/^curl .*$/gm)].map(([line]) => line.replace(/ +# .*$/, ""));

test("the page has requests", () => {
  expect(lines.length).toBeGreaterThan(30);
});

test.each(lines)("%s", (line) => {
  const { method, path, query, body } = requestOf(line);
  if (path === "/health") return;
  const pattern = (operation: Operation) => new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
  const operation = operations.find((one) => one.method === method && pattern(one).test(path));
  expect(operation, `${method} ${path}`).toBeDefined();
  expect(operation?.query?.strict().safeParse(query).error?.issues).toBeUndefined();
  if (operation?.query === undefined) expect(query).toEqual({});
  if (body !== undefined) expect(operation?.body?.safeParse(body).error?.issues).toBeUndefined();
});
