/** `source.objectStorage`: files in a bucket, once or continuously. */
import { z } from "zod";
import type { JsonObject } from "../../../lib/json.ts";
import type { SourceKind } from "../../contract/source.ts";
import { objectStorageDescription } from "./description.ts";
import { objectShapes } from "./durable.ts";
import { objectFormats } from "./object-formats.ts";

const request = z.strictObject({
  type: z
    .enum(["s3", "gcs", "dospaces", "azureblobstorage", "cloudflarer2", "ovhobjectstorage"])
    .optional()
    .describe("Kind of store; inferred from the url when omitted"),
  format: z.enum(objectFormats).optional().describe("Inferred from the file suffix when omitted"),
  url: z.string().min(1).max(4096).optional().describe("Bucket URL with `?`, `*` and `**` in the path"),
  delimiter: z.string().length(1).optional().describe("Field separator of CSV files, default `,`"),
  compression: z
    .enum(["none", "auto", "gzip", "gz", "brotli", "br", "xz", "LZMA", "zstd", "zst", "bz2", "lz4"])
    .optional(),
  isContinuous: z
    .boolean()
    .optional()
    .describe("Whether new files are loaded continuously; false loads the existing files, then the pipe is Completed"),
  queueUrl: z.string().min(1).max(2048).optional(),
  skipInitialLoad: z.boolean().optional(),
  startAfter: z.string().min(1).max(1024).optional(),
  authentication: z.enum(["IAM_ROLE", "IAM_USER", "CONNECTION_STRING", "SERVICE_ACCOUNT"]).optional(),
  iamRole: z.string().min(1).max(2048).optional(),
  connectionString: z.string().min(1).max(4096).optional(),
  path: z.string().min(1).max(1024).optional(),
  azureContainerName: z.string().min(1).max(63).optional(),
  accessKey: z
    .strictObject({ accessKeyId: z.string().min(1).max(256), secretKey: z.string().min(1).max(256) })
    .optional(),
});

export type ObjectStorageConfig = z.output<typeof request>;

export const objectStorage = {
  ...objectStorageDescription,
  key: "objectStorage",
  durable: objectShapes,
  request,
  addresses: { connection: ["connectionString", "url"], queue: ["queueUrl"] },
  objectResync: { prefix: "o:", patch: { result: "again" }, counter: "again", list: "again" },
  shown,
  rules,
  lostSinceBackup: ({ queueUrl }) =>
    queueUrl === undefined
      ? undefined
      : "Messages consumed after the backup are gone from the queue: resync, or load the files since then another way.",
} satisfies SourceKind;

/** A connection string without the account's key and signatures. */
function shown(config: JsonObject): JsonObject {
  if (typeof config.connectionString !== "string") return config;
  const parts = config.connectionString
    .split(";")
    .filter((part) => !/^\s*(AccountKey|SharedAccessSignature)\s*=/i.test(part));
  return { ...config, connectionString: parts.join(";") };
}

function rules(config: JsonObject): { path: string; message: string }[] {
  const issues: { path: string; message: string }[] = [];
  const azure = config.type === "azureblobstorage" || config.azureContainerName !== undefined;
  if (azure) {
    for (const member of ["connectionString", "azureContainerName", "path"]) {
      if (config[member] === undefined) issues.push({ path: member, message: "is required for azureblobstorage" });
    }
    if (config.url !== undefined)
      issues.push({ path: "url", message: "must be absent for azureblobstorage; use path" });
  } else if (config.url === undefined) issues.push({ path: "url", message: "is required" });
  else if (!/^(https?|s3|gs):\/\/[^/\s]+/i.test(String(config.url))) {
    issues.push({ path: "url", message: "must be an http(s)://, s3:// or gs:// address" });
  }
  if (config.authentication === "IAM_USER" && config.accessKey === undefined) {
    issues.push({ path: "accessKey", message: "is required for IAM_USER authentication" });
  }
  if (config.authentication === "IAM_ROLE" && config.iamRole === undefined) {
    issues.push({ path: "iamRole", message: "is required for IAM_ROLE authentication" });
  }
  if (config.queueUrl !== undefined && !/^https?:\/\/[^/\s]+\/\S+$/i.test(String(config.queueUrl))) {
    issues.push({ path: "queueUrl", message: "must be the http(s):// URL of a queue, not its name or ARN" });
  }
  if (config.queueUrl !== undefined && config.isContinuous !== true) {
    issues.push({ path: "queueUrl", message: "needs isContinuous: true" });
  }
  if (config.skipInitialLoad === true && config.queueUrl === undefined) {
    issues.push({ path: "skipInitialLoad", message: "needs queueUrl" });
  }
  if (config.skipInitialLoad === true && config.startAfter !== undefined) {
    issues.push({ path: "startAfter", message: "cannot be used together with skipInitialLoad: true" });
  }
  return issues;
}
