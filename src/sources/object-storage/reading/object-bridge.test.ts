/** What the engine receives for objects that a bridge serves, with requests in the engine's form. */
import { request as httpRequest } from "node:http";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import type { ByteRange, ObjectStore } from "../stores/store.ts";
import { type BridgeMode, ObjectBridge } from "./object-bridge.ts";

const content = Buffer.from("0123456789");
const modified = new Date(86_400_000);
let etag = "e1";
let asked: (string | undefined)[] = [];
let bridge: ObjectBridge;

const store: ObjectStore = {
  list: async () => ({ files: [{ key: "in/a", etag, size: content.length }], more: false, last: "in/a" }),
  pathOf: (key) => `box/${key}`,
  head: async (key) => {
    if (key !== "in/a") throw Object.assign(new Error("gone"), { statusCode: 404 });
    return { etag, modified, size: content.length };
  },
  download: async (key, version, _signal, range?: ByteRange) => {
    asked.push(version);
    if (key === "in/broken") throw new Error("unreachable");
    const body = Readable.from([content.subarray(range?.start ?? 0, (range?.end ?? content.length - 1) + 1)]);
    return { etag, modified, size: content.length, body };
  },
  close: () => {},
};

beforeEach(() => {
  etag = "e1";
  asked = [];
  bridge = new ObjectBridge(store, anyNetwork);
});
afterEach(() => bridge.close());

type Options = { mode?: BridgeMode; method?: string; range?: string; token?: string };

async function ask(path: string, { mode = "plain", method = "GET", range, token }: Options = {}) {
  const { params } = await bridge.reader(["in/a"], mode);
  const url = new URL(params.object_url ?? "");
  const key = token ?? params.access_key ?? "";
  const headers = { Authorization: `AWS4-HMAC-SHA256 Credential=${key}/x`, ...(range === undefined ? {} : { range }) };
  const outgoing = httpRequest(new URL(path, url), { method, headers }).end();
  return await new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>((done, fail) => {
    outgoing.on("error", fail).on("response", async (answer) => {
      let body = "";
      for await (const part of answer) body += part;
      done({ status: answer.statusCode ?? 0, headers: answer.headers, body });
    });
  });
}

describe("plain objects", () => {
  test("have their own size, version and time", async () => {
    const { status, headers } = await ask("/box/in/a", { method: "HEAD" });
    expect(status).toBe(200);
    expect(headers).toMatchObject({ "content-length": "10", etag: '"e1"', "last-modified": modified.toUTCString() });
  });

  test.each([
    [undefined, 200, "0123456789", undefined],
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=8-99", 206, "89", "bytes 8-9/10"],
  ])("with the range %s", async (range, status, body, contentRange) => {
    const answer = await ask("/box/in/a", range === undefined ? {} : { range });
    expect(answer).toMatchObject({ status, body });
    expect(answer.headers["content-range"]).toBe(contentRange);
    expect(answer.headers["content-length"]).toBe(String(body.length));
  });

  test("are read in the version that the engine was told of", async () => {
    await ask("/box/in/a", { method: "HEAD" });
    etag = "e2";
    await ask("/box/in/a");
    expect(asked).toEqual(["e1"]);
  });

  test("are listed with their sizes", async () => {
    expect((await ask("/box?list-type=2&prefix=in%2F")).body).toContain("<Size>10</Size>");
    expect((await ask("/box?list-type=2&prefix=in%2F", { mode: "unpacked" })).body).not.toContain("<Size>10</Size>");
  });

  test("that are gone are not found; what fails may be tried again", async () => {
    expect((await ask("/box/in/gone", { method: "HEAD" })).status).toBe(404);
    expect((await ask("/box/in/broken")).status).toBe(503);
    expect((await ask("/other/in/a")).status).toBe(404);
  });
});

test("only who knows a token reads, and the token says what is served", async () => {
  expect((await ask("/box/in/a", { token: "0".repeat(48) })).status).toBe(403);
  expect((await ask("/box/in/a", { token: "" })).status).toBe(403);
  expect((await ask("/box/in/a")).body).toBe("0123456789");
  // These bytes are not bzip2.
  expect((await ask("/box/in/a", { mode: "unpacked" })).status).toBe(422);
});
