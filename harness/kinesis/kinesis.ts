/**
 * Kinesis stand-ins as child processes on loopback: `kinesis-local` (complete, slow) and `kinesalite` (fast, without
 * enhanced fan-out). Both keep their streams in memory.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  CreateStreamCommand,
  DescribeStreamSummaryCommand,
  KinesisClient,
  ListShardsCommand,
  MergeShardsCommand,
  PutRecordsCommand,
  type PutRecordsRequestEntry,
  type Shard,
  SplitShardCommand,
} from "@aws-sdk/client-kinesis";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { freePort } from "../network/free-port.ts";
import { until } from "../serve.ts";
import { answersHttp, untilAnswers } from "../until-answers.ts";

export const accessKey = { accessKeyId: "AKKINESIS", secretKey: "SK-of-kinesis-tests" };
export const region = "us-east-1";

export type TestKinesis = AsyncDisposable & {
  readonly endpoint: string;
  readonly client: KinesisClient;
  createStream(name: string, shards: number): Promise<void>;
  /** Puts every record, in order per call, and repeats refused ones. */
  put(stream: string, records: readonly PutRecordsRequestEntry[]): Promise<void>;
  openShards(stream: string): Promise<Shard[]>;
  split(stream: string, shard: Shard): Promise<void>;
  merge(stream: string, shard: Shard, adjacent: Shard): Promise<void>;
  untilActive(stream: string): Promise<void>;
};

const find = createRequire(import.meta.url).resolve;

/** Why there can be no stand-in here; undefined when there can. */
export function kinesisMissing(name: "kinesalite" | "kinesis-local"): string | undefined {
  try {
    find(name);
    return undefined;
  } catch {
    return `The Kinesis stand-in ${name} is missing: npm install`;
  }
}

export async function startKinesisLocal(): Promise<TestKinesis> {
  const [plain, tls] = [await freePort(), await freePort()];
  const quick = [
    "CREATE_STREAM",
    "SPLIT_SHARD",
    "MERGE_SHARDS",
    "REGISTER_STREAM_CONSUMER",
    "DEREGISTER_STREAM_CONSUMER",
  ];
  const env = {
    KINESIS_MOCK_PLAIN_PORT: String(plain),
    KINESIS_MOCK_TLS_PORT: String(tls),
    SHARD_LIMIT: "500",
    LOG_LEVEL: "ERROR",
    CATS_EFFECT_WARN_ON_CPU_STARVATION: "false",
    ...Object.fromEntries(quick.map((name) => [`${name}_DURATION`, "20ms"])),
  };
  const main = find("kinesis-local");
  return await start([main], { cwd: dirname(main), env }, plain);
}

export async function startKinesalite(): Promise<TestKinesis> {
  const port = await freePort();
  const quick = ["--createStreamMs", "20", "--deleteStreamMs", "20", "--updateStreamMs", "20", "--shardLimit", "500"];
  return await start([join(dirname(find("kinesalite")), "cli.js"), "--port", String(port), ...quick], {}, port);
}

async function start(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> },
  port: number,
): Promise<TestKinesis> {
  const preload = fileURLToPath(new URL("../network/loopback-only.cjs", import.meta.url));
  const child = spawn(process.execPath, ["--require", preload, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await untilAnswers("the Kinesis stand-in", child, () => answersHttp(endpoint));
  return connect(endpoint, child);
}

function connect(endpoint: string, child: ChildProcess): TestKinesis {
  const client = clientFor(endpoint);
  const openShards = async (stream: string) => {
    const { Shards = [] } = await client.send(new ListShardsCommand({ StreamName: stream }));
    return Shards.filter((shard) => shard.SequenceNumberRange?.EndingSequenceNumber === undefined).sort((a, b) =>
      startOf(a) < startOf(b) ? -1 : 1,
    );
  };
  const untilActive = async (stream: string) => {
    const status = async () => {
      const { StreamDescriptionSummary } = await client.send(new DescribeStreamSummaryCommand({ StreamName: stream }));
      return StreamDescriptionSummary?.StreamStatus;
    };
    await until("the stream is active", async () => (await status()) === "ACTIVE");
  };
  return {
    endpoint,
    client,
    openShards,
    untilActive,
    createStream: async (StreamName, ShardCount) => {
      await client.send(new CreateStreamCommand({ StreamName, ShardCount }));
      await untilActive(StreamName);
    },
    put: (stream, records) => put(client, stream, records),
    split: async (StreamName, shard) => {
      const middle = (startOf(shard) + BigInt(shard.HashKeyRange?.EndingHashKey ?? 0)) / 2n;
      const NewStartingHashKey = String(middle);
      await client.send(new SplitShardCommand({ StreamName, ShardToSplit: shard.ShardId, NewStartingHashKey }));
      await untilActive(StreamName);
    },
    merge: async (StreamName, shard, adjacent) => {
      await client.send(
        new MergeShardsCommand({ StreamName, ShardToMerge: shard.ShardId, AdjacentShardToMerge: adjacent.ShardId }),
      );
      await untilActive(StreamName);
    },
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

/** The stand-ins do not support HTTP/2, the client's default. */
export function clientFor(endpoint: string): KinesisClient {
  const credentials = { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey };
  return new KinesisClient({ endpoint, region, credentials, requestHandler: new NodeHttpHandler() });
}

async function put(client: KinesisClient, stream: string, records: readonly PutRecordsRequestEntry[]): Promise<void> {
  for (let rest = [...records]; rest.length > 0; ) {
    const part = rest.slice(0, 500);
    const { Records = [] } = await client.send(new PutRecordsCommand({ StreamName: stream, Records: part }));
    const refused = part.filter((_, at) => Records[at]?.ErrorCode !== undefined);
    rest = [...refused, ...rest.slice(500)];
  }
}

function startOf(shard: Shard): bigint {
  return BigInt(shard.HashKeyRange?.StartingHashKey ?? 0);
}
