/** A Kinesis stream, in words and inputs. */
import type { SourceDescription } from "../../contract/description.ts";
import {
  accessKeyFields,
  authentication,
  awsAuthentications,
  awsRole,
  messageFields,
  messageGuarantee,
  registryLogin,
} from "../../contract/fields.ts";

/** Nothing chosen is the access key. */
const byAccessKey = [
  { path: "authentication", not: ["IAM_ROLE"] },
  { path: "iamRole", isSet: false },
] as const;

export const managedStreamDescription = {
  word: "kinesis",
  cloudWord: "kinesis",
  label: "Kinesis",
  reads: "a Kinesis stream",
  summaries: ["{streamName} in {region}"],
  named: ["{streamName}"],
  lane: "Shard",
  guarantees: [{ when: [], text: messageGuarantee }],
  group: "messages",
  vendors: [{ label: "Amazon Kinesis" }],
  fields: [
    { path: "streamName", label: "Stream", flag: ["--stream <name>", "Name of the stream"] },
    {
      path: "region",
      label: "Region",
      flag: ["--region <id>", "AWS region"],
      step: "connection",
      required: true,
      placeholder: "eu-west-1",
    },
    {
      path: "endpoint",
      label: "Endpoint",
      flag: ["--endpoint <url>", "Endpoint other than that of AWS"],
      step: "connection",
      hint: "Only for another endpoint than that of AWS",
    },
    {
      ...authentication,
      first: "IAM_USER",
      options: awsAuthentications,
    },
    ...accessKeyFields([{ path: "authentication", not: ["IAM_ROLE"] }]),
    awsRole,
    ...messageFields,
    {
      path: "iteratorType",
      label: "Begin",
      input: "choice",
      flag: ["--start <position>", "TRIM_HORIZON, LATEST or AT_TIMESTAMP"],
      step: "data",
      first: "TRIM_HORIZON",
      options: [
        { value: "TRIM_HORIZON", label: "With the first record that is kept" },
        { value: "LATEST", label: "With records that arrive from now on" },
      ],
    },
    {
      path: "timestamp",
      label: "Time",
      input: "number",
      flag: ["--start-time <seconds>", "Start of AT_TIMESTAMP, UNIX seconds"],
    },
    {
      path: "useEnhancedFanOut",
      label: "Enhanced fan-out",
      input: "switch",
      flag: ["--fan-out", "Reads by enhanced fan-out"],
      step: "data",
      hint: "Faster, and charged by AWS",
    },
    { path: "compression", label: "Compression", flag: ["--compression <name>", "none or gzip"] },
  ],
  listing: { of: "streams", member: "streamName" },
  mutable: ["authentication", "iamRole", "accessKey"],
  secrets: ["accessKey", "schemaRegistry.credentials"],
  logins: [{ when: byAccessKey, members: ["accessKey.accessKeyId", "accessKey.secretKey"] }, registryLogin],
  settings: ["streaming_", "database_", "object_storage_concurrency"],
  example: {
    title: "A Kinesis stream",
    name: "Clicks",
    source: {
      streamName: "clicks",
      region: "eu-west-1",
      format: "JSONEachRow",
      iteratorType: "TRIM_HORIZON",
      authentication: "IAM_USER",
      accessKey: { accessKeyId: "AKIA...", secretKey: "..." },
    },
  },
} as const satisfies SourceDescription;
