/** What the check of a new pipe says of a URL that finds no object. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { anyNetwork } from "../../../harness/network/network.ts";
import { testDestination } from "../../../harness/sources/source-context.ts";
import type { Issue } from "../../lib/errors.ts";
import { CheckRun } from "../contract/checks.ts";
import { planRows } from "../messages/plan.ts";
import { objectStorageConnector } from "./connector.ts";

const keys = ["in/a.json", "odd/{a,b}/1.json", "odd/[x].json"];
const server = createServer((request, response) => {
  const prefix = new URL(request.url ?? "", "http://host").searchParams.get("prefix") ?? "";
  const entries = keys
    .filter((key) => key.startsWith(prefix))
    .map((key) => {
      return `<Contents><Key>${key}</Key><ETag>"1"</ETag><Size>1</Size></Contents>`;
    });
  response.setHeader("content-type", "application/xml");
  response.end(`<ListBucketResult><IsTruncated>false</IsTruncated>${entries.join("")}</ListBucketResult>`);
}).listen(0, "127.0.0.1");
await once(server, "listening");
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function checked(pattern: string, columns = testDestination.columns): Promise<Issue[]> {
  const warnings: Issue[] = [];
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/b/${pattern}`;
  const options = {
    ...{
      network: anyNetwork,
      validateSamples: false,
      destination: { ...testDestination, columns },
      query: async () => [],
    },
    ...{ pipeId: undefined, marks: async () => ({}), warn: (warning: Issue) => void warnings.push(warning) },
    run: new CheckRun(),
  };
  await objectStorageConnector.check({ url, format: "JSONEachRow" }, options, new AbortController().signal);
  return warnings;
}

test("patterns of other products that find no object are said to be none", async () => {
  const literal = expect.stringMatching(/Braces and brackets stand for themselves: only \?, \* and \*\* are patterns/);
  for (const pattern of ["in/{a,b}*.json", "in/*/[ab].json", "{in,out}/**"]) {
    expect(await checked(pattern), pattern).toEqual([{ path: "source.objectStorage.url", message: literal }]);
  }
  for (const pattern of ["in/{a,b}.json", "in/[ab].json"]) {
    await expect(checked(pattern), pattern).rejects.toMatchObject({
      issues: [{ path: "source.objectStorage.url", message: literal }],
    });
  }
});

test.each(["in/*.json", "none/*.json", "odd/{a,b}/*.json", "odd/[x].json", "odd/**"])(
  "%s, whose signs are patterns or are in keys, brings no warning",
  async (pattern) => {
    expect(await checked(pattern)).toEqual([]);
  },
);

test("a field that is mapped as a value and as a parent is told of the mappings", async () => {
  const columns = ["x", "x.y"].map((sourceField, at) => ({ name: `c${at}`, type: "String", sourceField }));
  await expect(checked("in/*.json", columns)).rejects.toMatchObject({ issues: [{ path: "fieldMappings" }] });
  expect(() => planRows({ ...testDestination, columns }, "JSONEachRow", {})).toThrow(/^fieldMappings: The field "x" /);
});
