/** Answers of a store that lies. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { AzureStore } from "./azure.ts";
import { S3Store } from "./s3.ts";

const open: Server[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Answer = (response: ServerResponse) => void;

async function endpointOf(answer: Answer): Promise<string> {
  const server = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function storeOf(answer: Answer): Promise<S3Store> {
  const endpoint = await endpointOf(answer);
  const location = { endpoint, bucket: "bucket", key: "", region: "us-east-1", pathStyle: true };
  return new S3Store(location as never, {} as never, anyNetwork);
}

const never = new AbortController().signal;

function listing(keys: readonly string[], isTruncated: boolean): string {
  const contents = keys.map((key) => `<Contents><Key>${key}</Key><ETag>"e"</ETag><Size>1</Size></Contents>`);
  return `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${contents.join("")}</ListBucketResult>`;
}

test.each<[string, readonly string[]]>([
  ["no key", []],
  ["keys before the start", ["a", "b"]],
])("a listing without end that brings %s is refused", async (_, keys) => {
  const store = await storeOf((response) => response.end(listing(keys, true)));
  await expect(store.list("", "m", never)).rejects.toMatchObject({
    code: "SOURCE_INVALID",
    message: expect.stringContaining("has no end"),
  });
});

test("a listing that goes on is read", async () => {
  const store = await storeOf((response) => response.end(listing(["n", "o"], true)));
  expect(await store.list("", "m", never)).toMatchObject({ more: true, last: "o" });
});

test("a key of a megabyte is refused", async () => {
  const store = await storeOf((response) => response.end(listing(["k".repeat(2 ** 20)], false)));
  await expect(store.list("", undefined, never)).rejects.toMatchObject({
    code: "SOURCE_INVALID",
    message: "Bucket bucket lists a key of more than 4096 bytes.",
  });
});

test.each([
  ["an ETag of a megabyte", "e".repeat(2 ** 20), "1"],
  ["no number as its size", "e", "many"],
  ["an infinite size", "e", "1e999"],
  ["a negative size", "e", "-5"],
])("an object with %s is refused", async (_, etag, size) => {
  const contents = `<Contents><Key>k</Key><ETag>${etag}</ETag><Size>${size}</Size></Contents>`;
  const store = await storeOf((response) => response.end(`<ListBucketResult>${contents}</ListBucketResult>`));
  await expect(store.list("", undefined, never)).rejects.toMatchObject({
    code: "SOURCE_INVALID",
    message: "Bucket bucket lists k with an ETag or a size that no store has.",
  });
});

test("entities of a listing are neither expanded nor read from files", async () => {
  const nested = Array.from({ length: 12 }, (_, at) => `<!ENTITY a${at + 1} "${`&a${at};`.repeat(10)}">`).join("");
  const doctype = `<!DOCTYPE l [<!ENTITY a0 "aaaaaaaaaa"><!ENTITY f SYSTEM "file:///etc/passwd">${nested}]>`;
  const store = await storeOf((response) => {
    response.end(`<?xml version="1.0"?>${doctype}${listing(["&a12;", "&f;"], false)}`);
  });
  const page = await store.list("", undefined, never).catch((error: Error) => error.message);
  expect(JSON.stringify(page).length).toBeLessThan(1_000);
  expect(JSON.stringify(page)).not.toContain("root:");
});

test("an answer without end is not gathered", async () => {
  let sent = 0;
  const store = await storeOf((response) => {
    const part = Buffer.alloc(2 ** 20, " ");
    const more = () => {
      while (!response.destroyed && sent < 2 ** 28) {
        sent += part.length;
        if (!response.write(part)) return;
      }
    };
    response.on("drain", more);
    more();
  });
  await expect(store.list("", undefined, never)).rejects.toMatchObject({ code: "SOURCE_UNREACHABLE" });
  expect(sent).toBeLessThan(2 ** 28);
});

test("a store that takes requests and answers none is unreachable after its time", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const asked = Promise.withResolvers<void>();
  const store = await storeOf(() => asked.resolve());
  const listed = store.list("", undefined, never).catch((error: Error) => error);
  let answer: unknown;
  void listed.then((error) => (answer = error));
  await asked.promise;
  // Three attempts of 20 s, and the pauses between them.
  for (let second = 0; second < 90 && answer === undefined; second += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((done) => setImmediate(done));
  }
  expect(answer).toMatchObject({
    code: "SOURCE_UNREACHABLE",
    message: expect.stringContaining("accepts the connection and does not answer in time"),
  });
});

test("what a store calls its error is shown only if it is a name", async () => {
  const secret = "<![CDATA[<b>sig=abc/def+ghi</b>]]>";
  const store = await storeOf((response) => {
    response.statusCode = 403;
    response.end(`<Error><Code>${secret}</Code><Message>${secret}</Message></Error>`);
  });
  const error = await store.list("", undefined, never).catch((reason: Error) => reason);
  expect(error).toMatchObject({ code: "SOURCE_UNAUTHORIZED" });
  expect(String((error as Error).message)).not.toContain("sig=");
});

const region = { "x-amz-bucket-region": "eu-west-1" };
const endpoint = "<Endpoint>bucket.s3.eu-west-1.amazonaws.com</Endpoint>";
test.each([
  [301, region, "<Code>PermanentRedirect</Code>", "SOURCE_INVALID", "its region is eu-west-1"],
  [301, {}, `<Code>PermanentRedirect</Code>${endpoint}`, "SOURCE_INVALID", "bucket.s3.eu-west-1.amazonaws.com"],
  [307, region, "<Code>TemporaryRedirect</Code>", "SOURCE_UNREACHABLE", "its region is eu-west-1"],
  [
    400,
    {},
    "<Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region>",
    "SOURCE_INVALID",
    "its region is eu-west-1",
  ],
  [301, { "x-amz-bucket-region": "sig=secret/x" }, "", "SOURCE_INVALID", "check the region and the host"],
])(
  "a bucket of another region, told by status %d with %o, says where it is",
  async (status, headers, body, code, text) => {
    const store = await storeOf((response) => {
      response.writeHead(status, headers);
      response.end(`<Error>${body}<Message>m</Message></Error>`);
    });
    await expect(store.list("", undefined, never)).rejects.toMatchObject({
      code,
      issues: [{ path: "source.objectStorage.url", message: expect.stringContaining(text) }],
    });
  },
);

test("a page of another program is not an empty bucket", async () => {
  const store = await storeOf((response) => response.end("<html><body>Sign in</body></html>"));
  const error = {
    code: "SOURCE_UNREACHABLE",
    message: expect.stringContaining("does not answer like an object store"),
  };
  await expect(store.list("", undefined, never)).rejects.toMatchObject(error);
  await expect(store.folder("", undefined, 10, never)).rejects.toMatchObject(error);
});

describe("the member by which an error of Azure is mended", () => {
  const location = { store: "azure", container: "c", pattern: "" } as const;
  const listed = async (connectionString: string) =>
    await new AzureStore(location, { connectionString }, anyNetwork).list("", undefined, never);
  const key = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=c2VjcmV0";
  const at = (member: string) => ({ issues: [{ path: `source.objectStorage.${member}` }] });

  test.each([
    [403, "AuthorizationFailure", "SOURCE_UNAUTHORIZED", "connectionString"],
    [404, "ContainerNotFound", "SOURCE_INVALID", "azureContainerName"],
    [400, "InvalidResourceName", "SOURCE_INVALID", "azureContainerName"],
  ])("%s %s", async (status, word, code, member) => {
    const endpoint = await endpointOf((response) => {
      response.writeHead(status, { "x-ms-error-code": word, "Content-Type": "application/xml" });
      response.end(`<?xml version="1.0"?><Error><Code>${word}</Code><Message>m</Message></Error>`);
    });
    await expect(listed(`${key};BlobEndpoint=${endpoint}/a`)).rejects.toMatchObject({ code, ...at(member) });
  });

  test("an address where nothing listens, and a string that is not complete", async () => {
    await expect(listed(`${key};BlobEndpoint=http://127.0.0.1:1/a`)).rejects.toMatchObject(at("connectionString"));
    await expect(listed("AccountName=a")).rejects.toMatchObject(at("connectionString"));
  });
});
