/**
 * A local S3 server with the demo's files: three million real flights in Parquet, and small files that keep arriving.
 */
import { createReadStream, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { buildApp } from "fauxqs";

export const bucket = "flights";
export const accessKey = { accessKeyId: "demo", secretKey: "demo-secret" };

const partBytes = 8 * 2 ** 20;

export type DemoStore = {
  readonly endpoint: string;
  put(key: string, body: string): Promise<void>;
  /** Uploads a file in parts; resolves with its size in bytes. */
  putFile(key: string, path: string): Promise<number>;
  close(): Promise<void>;
};

export async function startDemoStore(): Promise<DemoStore> {
  const app = buildApp({ logger: false });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const endpoint = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const credentials = { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey };
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    endpoint,
    put: async (key, body) => {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
    },
    putFile: (key, path) => putInParts(client, key, path),
    close: async () => {
      client.destroy();
      await app.close();
    },
  };
}

async function putInParts(client: S3Client, key: string, path: string): Promise<number> {
  const target = { Bucket: bucket, Key: key };
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
  const parts: { PartNumber: number; ETag: string | undefined }[] = [];
  let size = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: partBytes })) {
    const PartNumber = parts.length + 1;
    const { ETag } = await client.send(
      new UploadPartCommand({ ...target, UploadId, PartNumber, Body: chunk as Buffer }),
    );
    parts.push({ PartNumber, ETag });
    size += (chunk as Buffer).length;
  }
  await client.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts: parts } }));
  return size;
}

type Flight = { date: string; delay: number; distance: number; origin: string; destination: string };

/** Real flights, replayed with the current time: an endless supply of small newline-delimited JSON files. */
export function* arrivals(path: string, rowsPerFile: number): Generator<string> {
  const flights = JSON.parse(readFileSync(path, "utf8")) as Flight[];
  for (let at = 0; ; at = (at + rowsPerFile) % flights.length) {
    const time = new Date().toISOString().replace("T", " ").replace("Z", "");
    yield flights
      .slice(at, at + rowsPerFile)
      .map((flight) => JSON.stringify({ ...flight, date: time }))
      .join("\n");
  }
}
