/** Pipes from Kinesis streams in tests: events with an id, and a pipe into a table of the stream's name. */
import { createRequire } from "node:module";
import type { PutRecordsRequestEntry } from "@aws-sdk/client-kinesis";
import { columns, type PipeBody } from "../pipes.ts";
import { accessKey, region, type TestKinesis } from "./kinesis.ts";

/** Records with ids `from` to `to - 1`, spread over the shards. */
export function events(from: number, to: number): PutRecordsRequestEntry[] {
  return Array.from({ length: to - from }, (_, i) => ({
    PartitionKey: `key ${from + i}`,
    Data: Buffer.from(JSON.stringify({ id: from + i, name: `name ${from + i}` })),
  }));
}

export function kinesisPipe(
  kinesis: TestKinesis,
  streamName: string,
  more: { table?: string; source?: object; destination?: object; body?: object } = {},
): PipeBody {
  const { endpoint } = kinesis;
  return {
    name: `pipe of ${streamName}`,
    source: {
      managedStream: {
        streamName,
        region,
        endpoint,
        format: "JSONEachRow",
        authentication: "IAM_USER",
        accessKey,
        iteratorType: "TRIM_HORIZON",
        ...more.source,
      },
    },
    destination: {
      table: more.table ?? streamName,
      managedTable: true,
      tableDefinition: { engine: { type: "MergeTree" }, sortingKey: ["id"] },
      columns,
      ...more.destination,
    },
    settings: { streaming_max_insert_wait_ms: 500 },
    ...more.body,
  } as PipeBody;
}

/** One record of several user records, made by the aggregation library of AWS. */
export function aggregated(
  records: readonly { readonly key: string; readonly data: Buffer }[],
): PutRecordsRequestEntry & { Data: Buffer } {
  const aggregator = new RecordAggregator();
  for (const { key, data } of records) aggregator.addUserRecord({ partitionKey: key, data });
  const { partitionKey, data } = aggregator.build();
  return { PartitionKey: partitionKey, Data: data };
}

type Aggregator = {
  addUserRecord(record: { partitionKey: string; data: Buffer }): void;
  build(): { partitionKey: string; data: Buffer };
};

// Its types need a package that it does not install.
const { RecordAggregator } = createRequire(import.meta.url)("aws-kinesis-agg") as {
  RecordAggregator: new () => Aggregator;
};
