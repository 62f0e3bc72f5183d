/** `source.managedStream`: a Kinesis data stream. */
import { z } from "zod";
import type { JsonObject } from "../../../lib/json.ts";
import { ownName } from "../../contract/own-objects.ts";
import { schemaRegistry } from "../../contract/schema-registry.ts";
import type { SourceKind } from "../../contract/source.ts";
import { managedStreamDescription } from "./description.ts";
import { kinesisShapes } from "./durable.ts";

const request = z.strictObject({
  format: z.enum(["JSONEachRow", "Avro", "AvroConfluent", "Protobuf"]).optional(),
  streamName: z
    .string()
    .regex(/^[a-zA-Z0-9_.-]{1,128}$/, { error: "must be 1 to 128 characters of a-z, A-Z, 0-9, '_', '.', '-'" }),
  region: z.string().regex(/^[a-z0-9-]{1,32}$/, { error: "must be a region id such as us-east-1" }),
  useEnhancedFanOut: z.boolean().optional(),
  iteratorType: z.enum(["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]).optional(),
  timestamp: z
    .union([z.int().min(0), z.string().regex(/^\d{1,10}$/)])
    .optional()
    .describe("Start of AT_TIMESTAMP in UNIX seconds, not in the future; echoed in the JSON type that was sent"),
  schemaRegistry: schemaRegistry
    .optional()
    .describe("Confluent-compatible schema registry; required for formats whose messages carry a schema id"),
  compression: z.enum(["none", "gzip"]).optional().describe("Compression of the data of every record, default none"),
  endpoint: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .optional()
    .describe("Endpoint URL of the service, if it is not the AWS endpoint of the region"),
  authentication: z.enum(["IAM_ROLE", "IAM_USER"]).optional(),
  iamRole: z.string().min(1).max(2048).optional(),
  accessKey: z.strictObject({ accessKeyId: z.string().min(1), secretKey: z.string().min(1) }).optional(),
});

export type ManagedStreamConfig = z.output<typeof request>;

export const managedStream = {
  ...managedStreamDescription,
  key: "managedStream",
  durable: kinesisShapes,
  request,
  addresses: { connection: ["endpoint", "region"], schemaRegistry: ["schemaRegistry.url"] },
  rules,
  made: (config, pipeId) => (config.useEnhancedFanOut === true ? [{ kind: "consumer", name: ownName(pipeId) }] : []),
} satisfies SourceKind;

function rules(config: JsonObject): { path: string; message: string }[] {
  const issues: { path: string; message: string }[] = [];
  if (config.iteratorType === "AT_TIMESTAMP" && config.timestamp === undefined) {
    issues.push({ path: "timestamp", message: "is required for AT_TIMESTAMP" });
  }
  if (config.authentication === "IAM_ROLE" && config.iamRole === undefined) {
    issues.push({ path: "iamRole", message: "is required for IAM_ROLE authentication" });
  }
  if (config.authentication === "IAM_USER" && config.accessKey === undefined) {
    issues.push({ path: "accessKey", message: "is required for IAM_USER authentication" });
  }
  if (/^(?:Avro|Protobuf)/.test(String(config.format)) && config.schemaRegistry === undefined) {
    issues.push({ path: "schemaRegistry", message: `is required for the format ${String(config.format)}` });
  }
  if (config.accessKey === undefined && config.iamRole === undefined) {
    issues.push({ path: "accessKey", message: "or iamRole is required" });
  }
  if (/^https?:\/\/[^/]*@/.test(String(config.endpoint))) {
    issues.push({ path: "endpoint", message: "must not hold credentials; use accessKey" });
  }
  return issues;
}
