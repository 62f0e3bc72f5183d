/** A Kinesis data stream through the AWS client. Retries are left to the readers, which know what a call is worth. */

import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  type GetShardIteratorCommandInput,
  KinesisClient,
  ListShardsCommand,
  type Shard,
  type _Record as WireRecord,
} from "@aws-sdk/client-kinesis";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { AppError } from "../../../lib/errors.ts";
import { Dialer } from "../../../outgoing/dialer.ts";
import { sharedAgents } from "../../../outgoing/http.ts";
import { boundedAnswer } from "../../aws/bounded-answers.ts";
import { type AwsCredentials, credentialsOf } from "../../aws/credentials.ts";
import type { NetworkContext } from "../../source.ts";
import type { ManagedStreamConfig } from "../kind.ts";
import type { Page, ShardFacts, StartAt, StreamApi, StreamRecord } from "../stream.ts";
import { streamError } from "./errors.ts";

const connectTimeoutMs = 5_000;
const requestTimeoutMs = 20_000;
const streamField = "source.managedStream.endpoint";

export class KinesisStream implements StreamApi {
  readonly #client: KinesisClient;
  readonly #name: string;
  readonly #address: string;

  constructor(config: ManagedStreamConfig, network: NetworkContext) {
    this.#client = new KinesisClient({ ...connection(config, network), requestHandler: requestHandlerOf(network) });
    this.#name = config.streamName;
    this.#address = addressOf(config);
  }

  async shards(signal: AbortSignal) {
    const shards: ShardFacts[] = [];
    let serverMs = Number.NaN;
    for (let token: string | undefined, more = true; more; more = token !== undefined) {
      const command = new ListShardsCommand(token === undefined ? { StreamName: this.#name } : { NextToken: token });
      command.middlewareStack.add(
        (next) => async (args) => {
          const answer = await next(args);
          const { headers = {} } = answer.response as { headers?: Record<string, string> };
          // The clock of the first response: later records cannot be older.
          if (Number.isNaN(serverMs)) serverMs = Date.parse(headers.date ?? "");
          return answer;
        },
        { step: "deserialize" },
      );
      const page = await this.#asking(() => this.#client.send(command, { abortSignal: signal }), signal);
      shards.push(...(page.Shards ?? []).map(factsOf));
      token = page.NextToken;
    }
    return { shards, serverMs: Number.isNaN(serverMs) ? Date.now() : serverMs };
  }

  async iterator(shard: string, start: StartAt, signal: AbortSignal): Promise<string> {
    const input = { StreamName: this.#name, ShardId: shard, ...iteratorInput(start) };
    const command = new GetShardIteratorCommand(input);
    const { ShardIterator } = await this.#asking(() => this.#client.send(command, { abortSignal: signal }), signal);
    if (ShardIterator === undefined) throw new AppError("SOURCE_UNREACHABLE", `${this.#address} gave no iterator.`);
    return ShardIterator;
  }

  async records(iterator: string, limit: number, signal: AbortSignal): Promise<Page> {
    const command = new GetRecordsCommand({ ShardIterator: iterator, Limit: limit });
    const page = await this.#asking(() => this.#client.send(command, { abortSignal: signal }), signal);
    return {
      records: (page.Records ?? []).map(recordOf),
      behindMs: page.MillisBehindLatest ?? 0,
      ended: page.NextShardIterator === undefined || page.NextShardIterator === "",
      next: page.NextShardIterator || undefined,
    };
  }

  close(): void {
    this.#client.destroy();
  }

  async #asking<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw error;
      throw streamError(error, this.#name, this.#address);
    }
  }
}

/** Connections that follow the address policy, shared by the pipes of this process. */
export function requestHandlerOf(network: NetworkContext): NodeHttpHandler {
  const agents = sharedAgents(network.policy, network.organizationId, streamField);
  return new NodeHttpHandler({
    httpAgent: agents.http,
    httpsAgent: agents.https,
    connectionTimeout: connectTimeoutMs,
    requestTimeout: requestTimeoutMs,
    throwOnRequestTimeout: true,
  });
}

/** Region, endpoint and credentials of a client for the source. */
export function connection(config: ManagedStreamConfig, network: NetworkContext) {
  return {
    region: config.region,
    maxAttempts: 1,
    streamCollector: boundedAnswer,
    ...(config.endpoint === undefined ? {} : { endpoint: config.endpoint }),
    credentials: resolved(credentialsOf(config, config.region, network)),
  };
}

export function dialerOf(network: NetworkContext): Dialer {
  return new Dialer(network.policy, streamField);
}

export function addressOf(config: ManagedStreamConfig): string {
  return config.endpoint ?? `kinesis.${config.region}.amazonaws.com`;
}

function resolved(credentials: (() => Promise<AwsCredentials>) | undefined): () => Promise<AwsCredentials> {
  return async () => {
    try {
      if (credentials === undefined) throw new Error("neither accessKey nor iamRole");
      return await credentials();
    } catch (error) {
      const text = "The role could not be assumed with the machine's own credentials (AssumeRole failed).";
      throw new AppError("SOURCE_UNAUTHORIZED", text, { cause: error });
    }
  };
}

export function recordOf(record: WireRecord): StreamRecord {
  return {
    sequence: record.SequenceNumber ?? "",
    key: record.PartitionKey ?? "",
    arrivalMs: record.ApproximateArrivalTimestamp?.getTime() ?? 0,
    data: record.Data ?? new Uint8Array(),
  };
}

function factsOf(shard: Shard): ShardFacts {
  return {
    id: shard.ShardId ?? "",
    parents: [shard.ParentShardId, shard.AdjacentParentShardId].flatMap((id) => id || []),
    closed: shard.SequenceNumberRange?.EndingSequenceNumber !== undefined,
  };
}

function iteratorInput(start: StartAt): Omit<GetShardIteratorCommandInput, "ShardId"> {
  switch (start.from) {
    case "horizon":
      return { ShardIteratorType: "TRIM_HORIZON" };
    case "latest":
      return { ShardIteratorType: "LATEST" };
    case "time":
      return { ShardIteratorType: "AT_TIMESTAMP", Timestamp: new Date(start.ms) };
    case "at":
      return { ShardIteratorType: "AT_SEQUENCE_NUMBER", StartingSequenceNumber: start.sequence };
    case "after":
      return { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber: start.sequence };
  }
}
