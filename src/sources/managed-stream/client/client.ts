/** A Kinesis data stream through the AWS client. Retries are left to the readers, which know what a call is worth. */

import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  ListShardsCommand,
  type Shard,
  type StartingPosition,
  type _Record as WireRecord,
} from "@aws-sdk/client-kinesis";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { AppError, memberError } from "../../../lib/errors.ts";
import { Dialer } from "../../../outgoing/dialer.ts";
import { sharedAgents } from "../../../outgoing/http.ts";
import { boundedAnswer } from "../../aws/bounded-answers.ts";
import { credentialsOf } from "../../aws/credentials.ts";
import { answersInTime } from "../../aws/request-handler.ts";
import type { NetworkContext } from "../../contract/source.ts";
import type { ManagedStreamConfig } from "../declaration/kind.ts";
import type { Page, ShardFacts, StartAt, StreamApi, StreamRecord } from "../stream.ts";
import { streamError } from "./errors.ts";

/** More than any stream has, and a page without shards counts as many of them. */
const maxShards = 100_000;
const emptyPageShards = 100;
/** As the service defines both. */
const shardIdForm = /^[a-zA-Z0-9_.-]{1,128}$/;
const sequenceForm = /^(?:0|[1-9]\d{0,128})$/;
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
    let read = 0;
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
      token = await this.#asking(async () => {
        const { Shards: page = [], NextToken } = await this.#client.send(command, { abortSignal: signal });
        read += page.length || emptyPageShards;
        if (read > maxShards) throw this.#lie(`lists more than ${maxShards} shards`);
        for (const shard of page) shards.push(this.#factsOf(shard));
        return textOf(NextToken);
      }, signal);
    }
    return { shards, serverMs: Number.isNaN(serverMs) ? Date.now() : serverMs };
  }

  async iterator(shard: string, start: StartAt, signal: AbortSignal): Promise<string> {
    const { Type, SequenceNumber, Timestamp } = positionOf(start);
    const place = { ShardIteratorType: Type, StartingSequenceNumber: SequenceNumber, Timestamp };
    const command = new GetShardIteratorCommand({ StreamName: this.#name, ShardId: shard, ...place });
    const answer = await this.#asking(() => this.#client.send(command, { abortSignal: signal }), signal);
    return textOf(answer.ShardIterator) ?? raise(this.#lie("gave no iterator"));
  }

  async records(iterator: string, limit: number, signal: AbortSignal): Promise<Page> {
    const command = new GetRecordsCommand({ ShardIterator: iterator, Limit: limit });
    return await this.#asking(async () => {
      const page = await this.#client.send(command, { abortSignal: signal });
      const next = textOf(page.NextShardIterator);
      return { ...fetchedOf(page, this.#address), ended: next === undefined, next };
    }, signal);
  }

  close(): void {
    this.#client.destroy();
  }

  #factsOf({ ShardId: id = "", ParentShardId, AdjacentParentShardId, SequenceNumberRange }: Shard): ShardFacts {
    if (!shardIdForm.test(id)) throw this.#lie("lists a shard with an id that no shard has");
    const parents = [ParentShardId, AdjacentParentShardId].flatMap((parent) => textOf(parent) ?? []);
    const first = textOf(SequenceNumberRange?.StartingSequenceNumber);
    const closed = SequenceNumberRange?.EndingSequenceNumber !== undefined;
    return { id, parents, closed, first: sequenceForm.test(first ?? "") ? first : undefined };
  }

  #lie(what: string): AppError {
    return lie(this.#address, what);
  }

  /** An answer of another form than the service's is an error of the stream, as one that says so. */
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
  return new NodeHttpHandler(answersInTime(sharedAgents(network.policy, network.organizationId, streamField)));
}

/** Region, endpoint and credentials of a client for the source. */
export function connection(config: ManagedStreamConfig, network: NetworkContext) {
  return {
    region: config.region,
    maxAttempts: 1,
    streamCollector: boundedAnswer,
    ...(config.endpoint === undefined ? {} : { endpoint: config.endpoint }),
    credentials: credentialsOf("source.managedStream", config, config.region, network) ?? noCredentials,
  };
}

export function dialerOf(network: NetworkContext): Dialer {
  return new Dialer(network.policy, streamField);
}

export function addressOf(config: ManagedStreamConfig): string {
  return config.endpoint ?? `kinesis.${config.region}.amazonaws.com`;
}

async function noCredentials(): Promise<never> {
  throw memberError("SOURCE_UNAUTHORIZED", "source.managedStream.accessKey", "neither accessKey nor iamRole is given");
}

type WirePage = { readonly Records?: WireRecord[] | undefined; readonly MillisBehindLatest?: number | undefined };

/** Throws when the records are not those of a stream. */
export function fetchedOf({ Records: records = [], MillisBehindLatest }: WirePage, address: string) {
  return { records: records.map((record) => recordOf(record, address)), behindMs: Number(MillisBehindLatest) || 0 };
}

/** Without a position no batch could end at the record. */
function recordOf(record: WireRecord, address: string): StreamRecord {
  const { SequenceNumber: sequence = "", PartitionKey: key = "", Data: data = new Uint8Array() } = record;
  if (!sequenceForm.test(sequence)) throw lie(address, "sent a record with a sequence number that is not a number");
  if (typeof key !== "string" || !(data instanceof Uint8Array)) {
    throw lie(address, "sent a record whose key is not text, or whose data are not bytes");
  }
  return { sequence, key, arrivalMs: record.ApproximateArrivalTimestamp?.getTime() || 0, data };
}

/** Undefined for everything else, and for an empty text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function raise(error: Error): never {
  throw error;
}

function lie(address: string, what: string): AppError {
  return new AppError("SOURCE_UNREACHABLE", `${address} ${what}.`);
}

/** Where a subscription begins; an iterator has the same members, two of them by other names. */
export function positionOf(start: StartAt): StartingPosition {
  switch (start.from) {
    case "horizon":
      return { Type: "TRIM_HORIZON" };
    case "latest":
      return { Type: "LATEST" };
    case "time":
      return { Type: "AT_TIMESTAMP", Timestamp: new Date(start.ms) };
    case "at":
      return { Type: "AT_SEQUENCE_NUMBER", SequenceNumber: start.sequence };
    case "after":
      return { Type: "AFTER_SEQUENCE_NUMBER", SequenceNumber: start.sequence };
  }
}
