/** An S3 server on loopback for tests: fauxqs in process, on a port of its own. */
import type { AddressInfo } from "node:net";
import { CreateBucketCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { buildApp } from "fauxqs";

export type TestStore = AsyncDisposable & {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKey: { accessKeyId: string; secretKey: string };
  put(key: string, body: string | Buffer): Promise<void>;
};

export async function startTestStore(bucket = "test-bucket"): Promise<TestStore> {
  const app = buildApp({ logger: false });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const endpoint = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const accessKey = { accessKeyId: "test-key", secretKey: "test+secret/with=signs" };
  const credentials = { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey };
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    endpoint,
    bucket,
    accessKey,
    put: async (key, body) => {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
    },
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      await app.close();
    },
  };
}
