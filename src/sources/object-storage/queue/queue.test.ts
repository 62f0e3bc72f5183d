import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { readMessage, SqsQueue } from "./queue.ts";

afterEach(() => void vi.useRealTimers());

const read = (body: unknown) =>
  readMessage({ ReceiptHandle: "r", Body: typeof body === "string" ? body : JSON.stringify(body) }, "ours");
const record = (key: string, more: object = {}, eventName = "ObjectCreated:Put") => ({
  eventName,
  s3: { object: { key, ...more } },
});

describe("notification bodies", () => {
  test("S3: form-encoded keys, version and size when they are told", () => {
    const { objects } = read({ Records: [record("a+b%2Bc/%C3%A9.json", { eTag: "e1", size: 5 }), record("plain")] });
    expect(objects).toEqual([
      { key: "a b+c/é.json", file: { key: "a b+c/é.json", etag: "e1", size: 5 } },
      { key: "plain", file: undefined },
    ]);
  });
  test("wrapped by SNS, and from EventBridge, whose keys are not encoded", () => {
    expect(read({ Message: JSON.stringify({ Records: [record("x")] }) }).objects).toMatchObject([{ key: "x" }]);
    const bridge = { "detail-type": "Object Created", detail: { object: { key: "a+b %41" } } };
    expect(read(bridge).objects).toMatchObject([{ key: "a+b %41" }]);
  });
  test("other events name nothing and are understood; the rest is not", () => {
    expect(read({ Records: [record("x", {}, "ObjectRemoved:Delete")] })).toMatchObject({
      objects: [],
      understood: true,
    });
    expect(read({ Event: "s3:TestEvent" })).toMatchObject({ objects: [], understood: true });
    expect(read({ "detail-type": "Object Deleted", detail: { object: { key: "x" } } }).objects).toEqual([]);
    for (const body of ["", "nonsense", "[]", "null", "{}", '"text"', '{"Message":"no"}', '{"Records":{}}']) {
      expect(read(body), body).toMatchObject({ objects: [], understood: false });
    }
  });
  test("objects of another bucket are left out, also where ours has the same key", () => {
    const of = (name: string) => ({ ...record("x"), s3: { bucket: { name }, object: { key: "x" } } });
    expect(read({ Records: [of("theirs"), of("ours")] })).toEqual({
      ...{ receipt: "r", understood: true },
      objects: [{ key: "x", file: undefined }],
    });
    const bridge = (name: string) => ({
      "detail-type": "Object Created",
      detail: { bucket: { name }, object: { key: "x" } },
    });
    expect(read(bridge("ours")).objects).toHaveLength(1);
    expect(read(bridge("theirs"))).toMatchObject({ objects: [], understood: true });
  });
  test("a key that is not valid percent-encoding leaves the message alone instead of stopping the pipe", () => {
    expect(read({ Records: [record("100%.json")] }).understood).toBe(false);
  });
});

test("a queue that takes requests and answers none is unreachable after its time", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const accessKey = { accessKeyId: "a", secretKey: "s" };
  const queue = new SqsQueue(
    { accessKey },
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/0/q`,
    anyNetwork,
  );
  let answer: unknown;
  void queue.check(new AbortController().signal).catch((error: Error) => (answer = error));
  await asked.promise;
  // Three attempts of 20 s, and the pauses between them.
  for (let second = 0; second < 90 && answer === undefined; second += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((done) => setImmediate(done));
  }
  queue.close();
  server.closeAllConnections();
  server.close();
  expect(answer).toMatchObject({ code: "SOURCE_UNREACHABLE", issues: [{ path: "source.objectStorage.queueUrl" }] });
});
