/** What a pipe can read from. Each vendor is a kind of source with the type that the API gives it. */
export type SourceKind = "messageBroker" | "objectStorage" | "managedStream" | "relationalDb";

export type Preset = {
  readonly kind: SourceKind;
  /** The member `type` of the source. */
  readonly type: string | undefined;
  readonly label: string;
};

export const presetGroups: readonly {
  readonly title: string;
  readonly text: string;
  readonly presets: readonly Preset[];
}[] = [
  {
    title: "Streams of messages",
    text: "Topics and streams, followed from an offset.",
    presets: [
      { kind: "messageBroker", type: "kafka", label: "Apache Kafka" },
      { kind: "messageBroker", type: "redpanda", label: "Redpanda" },
      { kind: "messageBroker", type: "msk", label: "Amazon MSK" },
      { kind: "messageBroker", type: "confluent", label: "Confluent" },
      { kind: "messageBroker", type: "azureeventhub", label: "Azure Event Hubs" },
      { kind: "messageBroker", type: "warpstream", label: "WarpStream" },
      { kind: "messageBroker", type: "gcmk", label: "Google Managed Kafka" },
      { kind: "managedStream", type: undefined, label: "Amazon Kinesis" },
    ],
  },
  {
    title: "Object storage",
    text: "Files in a bucket, once or as they arrive.",
    presets: [
      { kind: "objectStorage", type: "s3", label: "Amazon S3, MinIO" },
      { kind: "objectStorage", type: "gcs", label: "Google Cloud Storage" },
      { kind: "objectStorage", type: "azureblobstorage", label: "Azure Blob Storage" },
      { kind: "objectStorage", type: "cloudflarer2", label: "Cloudflare R2" },
      { kind: "objectStorage", type: "dospaces", label: "DigitalOcean Spaces" },
      { kind: "objectStorage", type: "ovhobjectstorage", label: "OVH Object Storage" },
    ],
  },
  {
    title: "Databases",
    text: "Tables with all their later changes.",
    presets: [
      { kind: "relationalDb", type: "postgres", label: "Postgres" },
      { kind: "relationalDb", type: "supabase", label: "Supabase" },
      { kind: "relationalDb", type: "neon", label: "Neon" },
      { kind: "relationalDb", type: "rdspostgres", label: "Amazon RDS" },
      { kind: "relationalDb", type: "aurorapostgres", label: "Amazon Aurora" },
      { kind: "relationalDb", type: "cloudsqlpostgres", label: "Google Cloud SQL" },
      { kind: "relationalDb", type: "azurepostgres", label: "Azure Database" },
      { kind: "relationalDb", type: "alloydb", label: "AlloyDB" },
    ],
  },
];
