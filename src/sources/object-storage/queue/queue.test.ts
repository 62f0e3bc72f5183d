import { describe, expect, test } from "vitest";
import { readMessage } from "./queue.ts";

const read = (body: unknown) =>
  readMessage({ ReceiptHandle: "r", Body: typeof body === "string" ? body : JSON.stringify(body) });
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
  test("a key that is not valid percent-encoding leaves the message alone instead of stopping the pipe", () => {
    expect(read({ Records: [record("100%.json")] }).understood).toBe(false);
  });
});
