/**
 * S3 servers for tests: `fauxqs` in this process for speed, and the real `versitygw` where signatures, ranges and
 * throughput matter. It is expected in `$MILLRACE_CACHE/bin` (default `~/.cache/millrace/bin`) and built with
 * `GOBIN=~/.cache/millrace/bin go install github.com/versity/versitygw/cmd/versitygw@latest`.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { buildApp } from "fauxqs";
import { requireTool } from "../missing.ts";
import { freePort } from "../network/free-port.ts";
import { answersHttp, untilAnswers } from "../until-answers.ts";
import { versitygw, versitygwMissing } from "./versitygw.ts";

export const accessKey = { accessKeyId: "AKTEST", secretKey: "SK-of-pipe-tests'\\x" };
export const bucket = "bucket";

export type TestStore = AsyncDisposable & {
  readonly endpoint: string;
  readonly client: S3Client;
  put(key: string, body: string | Buffer): Promise<void>;
  get(key: string): Promise<Buffer>;
  remove(key: string): Promise<void>;
  url(pattern: string): string;
};

/** `requests`: method and path of each one so far. */
export async function startFauxqs(): Promise<
  TestStore & { readonly sqsEndpoint: string; readonly requests: readonly string[] }
> {
  const app = buildApp({ logger: false });
  const requests: string[] = [];
  app.addHook("onRequest", async ({ method, url }) => void requests.push(`${method} ${url}`));
  await app.listen({ host: "127.0.0.1", port: 0 });
  const endpoint = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const store = await connect(endpoint);
  return {
    ...store,
    requests,
    sqsEndpoint: endpoint,
    [Symbol.asyncDispose]: async () => {
      store.client.destroy();
      await app.close();
    },
  };
}

/** Throws MissingTool when it is not installed. */
export async function startVersitygw(): Promise<TestStore> {
  requireTool(versitygwMissing);
  const folder = mkdtempSync(join(tmpdir(), "millrace-s3-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const port = await freePort();
  const { accessKeyId, secretKey } = accessKey;
  // It keeps connections, as S3 does, only if it is told to.
  const options = ["--port", `127.0.0.1:${port}`, "--region", "us-east-1", "--keep-alive", "--quiet"];
  const child = spawn(versitygw, [...options, "posix", data], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretKey },
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await untilAnswers("versitygw", child, () => answersHttp(endpoint));
  const store = await connect(endpoint);
  return {
    ...store,
    [Symbol.asyncDispose]: async () => {
      store.client.destroy();
      child.kill("SIGKILL");
      await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function connect(endpoint: string): Promise<Omit<TestStore, typeof Symbol.asyncDispose>> {
  const credentials = { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey };
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    endpoint,
    client,
    put: async (Key, Body) => {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
    },
    get: async (Key) => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key }));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
    remove: async (Key) => {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
    },
    url: (pattern) => `${endpoint}/${bucket}/${pattern}`,
  };
}
