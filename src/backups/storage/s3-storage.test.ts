import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { S3Storage } from "./s3-storage.ts";

test.each([
  [403, "SignatureDoesNotMatch", "vault refuses access (SignatureDoesNotMatch); check --backup-access-key-id"],
  [404, "NoSuchBucket", "the bucket vault does not exist; check --backup-bucket"],
])("the answer %i %s of a bucket is told with the settings to check", async (status, code, sentence) => {
  const refusal = `<Error><Code>${code}</Code><Message>Words of the store.</Message></Error>`;
  const store = createServer((_, answer) => void answer.writeHead(status).end(refusal)).listen(0, "127.0.0.1");
  await once(store, "listening");
  const endpoint = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
  const location = { kind: "s3", bucket: "vault", prefix: "", endpoint, region: "us-east-1" } as const;
  const bucket = new S3Storage(location, { accessKeyId: "id", secretAccessKey: "key" });
  const { signal } = new AbortController();
  await expect(bucket.list("", signal)).rejects.toThrow(sentence);
  await expect(bucket.putWhole("a", Buffer.from("b"), signal)).rejects.toThrow(sentence);
  store.closeAllConnections();
  store.close();
});
