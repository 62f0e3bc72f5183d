import { expect, test } from "vitest";
import { type Bucket, bucketFolder, bucketUrl } from "./bucket-folder.ts";

const aws: Bucket = { kind: "s3", bucket: "vault", prefix: "in/here/", region: "eu-central-1" };
const own: Bucket = { ...aws, prefix: "", endpoint: "https://store.example.com:9000/" };
const keys = { accessKeyId: "id", secretAccessKey: "se'cret\\" };

test("the URL of the bucket is that of AWS, or below the endpoint", () => {
  expect(bucketUrl(aws)).toBe("https://vault.s3.eu-central-1.amazonaws.com/in/here");
  expect(bucketUrl(own)).toBe("https://store.example.com:9000/vault");
});

test("a folder is named with keys that are quoted, or by the server's own collection without any", () => {
  const key = "services/x/y/files/";
  expect(bucketFolder(own, { kind: "keys", keys }, key).sql).toBe(
    "S3('https://store.example.com:9000/vault/services/x/y/files', 'id', 'se\\'cret\\\\')",
  );
  expect(bucketFolder(aws, { kind: "collection" }, key).sql).toBe("S3(millrace_backups, 'services/x/y/files')");
});
