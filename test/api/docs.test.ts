import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const page = async (path: string) => {
  const { status, text } = await api.call("GET", path, { auth: null });
  return { status, text };
};

test("every operation has a page with its members and an example", async () => {
  const { text: index } = await page("/docs");
  for (const id of Object.keys({ ...managementOperations, ...observabilityOperations })) {
    expect(index).toContain(`/docs/operations/${id}`);
    const { status, text } = await page(`/docs/operations/${id}`);
    expect(status).toBe(200);
    expect(text).toContain("curl ");
  }
  const { text } = await page("/docs/operations/createPipe");
  expect(text.replaceAll("<wbr>", "")).toContain("source.messageBroker.brokers");
  expect(text.replaceAll("<wbr>", "")).toContain("destination.columns[].type");
  expect(text).toMatch(/Required role: <code>developer/);
  expect((await page("/docs/operations/listServices")).text).toMatch(/Required role: <code>read_only/);
});

test("every guide has a page, and no link of a page leads nowhere", async () => {
  const guides = readdirSync(new URL("../../docs", import.meta.url)).filter((file) => file.endsWith(".md"));
  const paths = ["/docs", ...guides.map((file) => `/docs/guides/${file.slice(0, -3)}`)];
  for (const path of paths) {
    const { status, text } = await page(path);
    expect(status, path).toBe(200);
    for (const [, target] of text.matchAll(/href="(\/[^"#]*)/g)) {
      expect((await page(target as string)).status, `${path} -> ${target}`).toBe(200);
    }
  }
});

test("a search finds operations and guides that hold every word", async () => {
  const { text } = await page("/docs/search?q=replication%20SLOT");
  expect(text).toContain("/docs/guides/postgres");
  expect(text).not.toContain("/docs/operations/listKeys");
  expect((await page("/docs/search?q=listkeys")).text).toContain("/docs/operations/listKeys");
  expect((await page("/docs/search?q=qqqq")).text).toContain("No results for “qqqq”");
  expect((await page(`/docs/search?q=${encodeURIComponent('"><script>')}`)).text).not.toContain("<script>");
});

test("what is not there is 404, also outside of the folder of guides", async () => {
  for (const path of ["operations/nothing", "operations/constructor", "guides/nothing", "guides/..%2Fpackage"]) {
    expect((await page(`/docs/${path}`)).status, path).toBe(404);
  }
});

test("texts for language models name every operation and guide, and the full one holds the guides", async () => {
  const { text: index } = await page("/llms.txt");
  const { text: full } = await page("/llms-full.txt");
  for (const id of Object.keys({ ...managementOperations, ...observabilityOperations })) {
    expect(index).toContain(`/docs/operations/${id})`);
    expect(full).toContain(`## ${id}\n`);
  }
  for (const file of readdirSync("docs").filter((name) => name.endsWith(".md"))) {
    expect(index).toContain(`/docs/guides/${file.replace(".md", "")})`);
    expect(full).toContain(readFileSync(`docs/${file}`, "utf8").trim());
  }
});
