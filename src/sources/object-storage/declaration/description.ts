/** Objects of a bucket, in words and inputs. */
import type { SourceDescription } from "../../contract/description.ts";
import { accessKeyFields, authentication, awsAuthentications, awsRole, choices } from "../../contract/fields.ts";
import { objectFormats } from "./object-formats.ts";

const isAzure = [{ path: "type", is: ["azureblobstorage"] }] as const;
const isNotAzure = [{ path: "type", not: ["azureblobstorage"] }] as const;
const byAccessKey = [{ path: "authentication", is: ["IAM_USER"] }] as const;

export const objectStorageDescription = {
  word: "objects",
  label: "Object storage",
  reads: "objects of a bucket",
  summaries: ["{url}", "{path}"],
  named: ["{url}", "{azureContainerName}"],
  guarantees: [
    {
      when: [],
      text: "Every object is loaded exactly once, also when a process, the service or the store is killed. Rows that do not fit are kept apart with their reason, and can be replayed.",
    },
  ],
  group: "objects",
  vendors: [
    { type: "s3", label: "Amazon S3, MinIO" },
    { type: "gcs", label: "Google Cloud Storage" },
    { type: "azureblobstorage", label: "Azure Blob Storage" },
    { type: "cloudflarer2", label: "Cloudflare R2" },
    { type: "dospaces", label: "DigitalOcean Spaces" },
    { type: "ovhobjectstorage", label: "OVH Object Storage" },
  ],
  fields: [
    {
      path: "url",
      label: "URL",
      flag: ["--from <url>", "Bucket URL with ?, * and ** in the path"],
      step: "connection",
      placeholder: "https://bucket.s3.eu-west-1.amazonaws.com/events/**/*.json.gz",
      hint: "? stands for one character, * for any within a folder, ** for any",
      when: isNotAzure,
    },
    {
      path: "type",
      label: "Type",
      flag: ["--type <type>", "s3, gcs, azureblobstorage, cloudflarer2, dospaces or ovhobjectstorage"],
    },
    {
      path: "connectionString",
      label: "Connection string",
      input: "secret",
      flag: ["--connection-string-file <file>", "the connection string of Azure"],
      step: "connection",
      when: isAzure,
    },
    {
      path: "azureContainerName",
      label: "Container",
      flag: ["--container <name>", "Container of Azure"],
      step: "connection",
      when: isAzure,
    },
    {
      path: "path",
      label: "Path",
      flag: ["--path <path>", "Path in the container of Azure"],
      step: "connection",
      placeholder: "events/**/*.parquet",
      when: isAzure,
    },
    {
      ...authentication,
      options: [{ value: "", label: "None: the objects are public" }, ...awsAuthentications],
      when: isNotAzure,
    },
    ...accessKeyFields(byAccessKey),
    awsRole,
    {
      path: "format",
      label: "Format",
      input: "choice",
      flag: ["--format <format>", "Format of the data"],
      step: "data",
      first: "JSONEachRow",
      options: choices(...objectFormats),
    },
    {
      path: "isContinuous",
      label: "Load new objects as they arrive",
      input: "switch",
      flag: ["--follow", "Loads new objects as they arrive"],
      step: "data",
      first: "true",
    },
    {
      path: "compression",
      label: "Compression",
      input: "choice",
      flag: ["--compression <name>", "Default: by the suffix of the object"],
      step: "data",
      options: [
        { value: "", label: "By the name of the object" },
        ...choices("none", "gzip", "zstd", "brotli", "xz", "bz2", "lz4"),
      ],
    },
    { path: "delimiter", label: "Separator", flag: ["--delimiter <character>", "Field separator of CSV"] },
    { path: "queueUrl", label: "Queue", flag: ["--queue-url <url>", "Queue with notifications of new objects"] },
    {
      path: "skipInitialLoad",
      label: "Only new objects",
      input: "switch",
      flag: ["--skip-initial-load", "With --queue-url: only new objects"],
    },
    { path: "startAfter", label: "Start after", flag: ["--start-after <key>", "Only objects after this key"] },
  ],
  listing: { of: "objects", member: "path" },
  mutable: [
    "authentication",
    "iamRole",
    "accessKey",
    "connectionString",
    "path",
    "azureContainerName",
    "skipInitialLoad",
    "startAfter",
  ],
  secrets: ["accessKey", "connectionString"],
  logins: [
    { when: byAccessKey, members: ["accessKey.accessKeyId", "accessKey.secretKey"] },
    { when: [{ path: "azureContainerName", isSet: true }], members: ["connectionString"] },
  ],
  settings: ["object_storage_", "database_"],
  spreadsWith: "object_storage_use_cluster_function",
  example: {
    title: "Files in a bucket, existing and new",
    name: "Events",
    source: {
      url: "https://my-bucket.s3.eu-west-1.amazonaws.com/events/*.json",
      format: "JSONEachRow",
      isContinuous: true,
      authentication: "IAM_USER",
      accessKey: { accessKeyId: "AKIA...", secretKey: "..." },
    },
  },
} as const satisfies SourceDescription;
