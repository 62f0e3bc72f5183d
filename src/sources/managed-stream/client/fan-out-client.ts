/** Consumers and subscriptions through the AWS client. Subscriptions need HTTP/2, which only TLS endpoints support. */

import { Readable } from "node:stream";
import {
  DeregisterStreamConsumerCommand,
  DescribeStreamConsumerCommand,
  DescribeStreamSummaryCommand,
  KinesisClient,
  RegisterStreamConsumerCommand,
  SubscribeToShardCommand,
  type SubscribeToShardEvent,
} from "@aws-sdk/client-kinesis";
import { NodeHttp2Handler, NodeHttpHandler } from "@smithy/node-http-handler";
import { childOf, sleep } from "../../../lib/abort.ts";
import { AppError } from "../../../lib/errors.ts";
import { agentsOf, http2Connection } from "../../../outgoing/http.ts";
import { answerMs } from "../../aws/request-handler.ts";
import type { NetworkContext } from "../../contract/source.ts";
import type { ManagedStreamConfig } from "../declaration/kind.ts";
import { type FanOutApi, type Pushed, type StartAt, StreamError } from "../stream.ts";
import { addressOf, connection, dialerOf, fetchedOf, positionOf, textOf } from "./client.ts";
import { streamError } from "./errors.ts";

const lookEveryMs = 500;
/** The server sends an event at least every few seconds, also without records. */
const idleTimeoutMs = 40_000;

export class FanOutClient implements FanOutApi {
  readonly #client: KinesisClient;
  readonly #name: string;
  readonly #address: string;
  #streamArn: string | undefined;

  constructor(config: ManagedStreamConfig, network: NetworkContext) {
    const agents = agentsOf(dialerOf(network));
    const createConnection = http2Connection(dialerOf(network));
    const plain = config.endpoint?.startsWith("http://") === true;
    const requestHandler = plain
      ? new NodeHttpHandler({ connectionTimeout: 5_000, httpAgent: agents.http, httpsAgent: agents.https })
      : new NodeHttp2Handler({ requestTimeout: 0, sessionTimeout: 0, nodeHttp2ConnectOptions: { createConnection } });
    this.#client = new KinesisClient({ ...connection(config, network), requestHandler: boundEvents(requestHandler) });
    this.#name = config.streamName;
    this.#address = addressOf(config);
  }

  async register(consumer: string, signal: AbortSignal): Promise<string> {
    const StreamARN = await this.#arn(signal);
    for (let pauseMs = 0; ; pauseMs = lookEveryMs) {
      await sleep(pauseMs, signal);
      signal.throwIfAborted();
      const found = await this.#describe(StreamARN, consumer, signal);
      if (found?.ConsumerStatus === "ACTIVE") return found.ConsumerARN as string;
      // A consumer of the same name that is being deleted must disappear first.
      if (found === undefined) await this.#make(StreamARN, consumer, signal);
    }
  }

  async deregister(consumer: string, signal: AbortSignal): Promise<void> {
    const StreamARN = await this.#arn(signal);
    try {
      const command = new DeregisterStreamConsumerCommand({ StreamARN, ConsumerName: consumer });
      await answered((abortSignal) => this.#client.send(command, { abortSignal }), signal);
    } catch (error) {
      if ((error as Error).name !== "ResourceNotFoundException") throw this.#error(error, signal);
    }
  }

  async *subscribe(ConsumerARN: string, ShardId: string, start: StartAt, signal: AbortSignal): AsyncIterable<Pushed> {
    using idle = childOf(signal);
    let isAnswered = false;
    let timer = setTimeout(() => idle.abort(), answerMs);
    try {
      const command = new SubscribeToShardCommand({ ConsumerARN, ShardId, StartingPosition: positionOf(start) });
      const { EventStream = [] } = await this.#client.send(command, { abortSignal: idle.signal });
      isAnswered = true;
      clearTimeout(timer);
      timer = setTimeout(() => idle.abort(), idleTimeoutMs);
      for await (const { SubscribeToShardEvent: event } of EventStream) {
        clearTimeout(timer);
        if (event !== undefined) yield pushedOf(event, this.#address);
        // While the caller of this generator is busy, no event is expected.
        timer = setTimeout(() => idle.abort(), idleTimeoutMs);
      }
    } catch (error) {
      if (!idle.signal.aborted || signal.aborted) throw this.#error(error, signal);
      if (!isAnswered) throw this.#error(silence(error), signal);
    } finally {
      clearTimeout(timer);
      idle.abort();
    }
  }

  close(): void {
    this.#client.destroy();
  }

  async #arn(signal: AbortSignal): Promise<string> {
    if (this.#streamArn !== undefined) return this.#streamArn;
    try {
      const command = new DescribeStreamSummaryCommand({ StreamName: this.#name });
      const { StreamDescriptionSummary } = await answered(
        (abortSignal) => this.#client.send(command, { abortSignal }),
        signal,
      );
      this.#streamArn = StreamDescriptionSummary?.StreamARN ?? "";
      return this.#streamArn;
    } catch (error) {
      throw this.#error(error, signal);
    }
  }

  async #describe(StreamARN: string, ConsumerName: string, signal: AbortSignal) {
    try {
      const command = new DescribeStreamConsumerCommand({ StreamARN, ConsumerName });
      const described = await answered((abortSignal) => this.#client.send(command, { abortSignal }), signal);
      return described.ConsumerDescription;
    } catch (error) {
      if ((error as Error).name === "ResourceNotFoundException") return undefined;
      throw this.#error(error, signal);
    }
  }

  async #make(StreamARN: string, ConsumerName: string, signal: AbortSignal): Promise<void> {
    try {
      const command = new RegisterStreamConsumerCommand({ StreamARN, ConsumerName });
      await answered((abortSignal) => this.#client.send(command, { abortSignal }), signal);
    } catch (error) {
      const { name } = error as Error;
      // Another replica was first.
      if (name === "ResourceInUseException") return;
      if (name === "LimitExceededException") {
        const text = `Stream "${this.#name}" has as many consumers as it may have; remove one or unset useEnhancedFanOut.`;
        throw new AppError("SOURCE_INVALID", text, { cause: error });
      }
      throw this.#error(error, signal);
    }
  }

  #error(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return error;
    const known = streamError(error, this.#name, this.#address);
    // The consumer or the shard of the subscription is gone; a new start finds out which.
    if (known instanceof StreamError && known.reason === "gone") {
      return new AppError("SOURCE_UNREACHABLE", `${this.#address} does not know the consumer or the position.`, {
        cause: error,
      });
    }
    return known;
  }
}

/** The whole answer of a request in time. Handlers have no such time here, because a subscription outlasts it. */
async function answered<T>(ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  using asking = childOf(signal);
  const timer = setTimeout(() => asking.abort(), answerMs);
  try {
    return await ask(asking.signal);
  } catch (error) {
    throw asking.signal.aborted && !signal.aborted ? silence(error) : error;
  } finally {
    clearTimeout(timer);
  }
}

function silence(cause: unknown): Error {
  return new Error(`no answer within ${answerMs / 1000} s`, { cause });
}

function pushedOf(event: SubscribeToShardEvent, address: string): Pushed {
  const continuation = textOf(event.ContinuationSequenceNumber);
  const ended = continuation === undefined && (event.ChildShards ?? []).length > 0;
  return { ...fetchedOf(event, address), ended, continuation };
}

/** Two megabytes of records in base64, with ample room. */
const maxMessageBytes = 32 * 2 ** 20;
/** Lengths and checksums of an empty message. */
const minMessageBytes = 16;
const lengthBytes = 4;

/**
 * The same handler, whose event streams end with an error at a message of another length. The client allocates what a
 * message announces before any of it has arrived, so lengths are checked on the way to it.
 */
function boundEvents(handler: NodeHttpHandler | NodeHttp2Handler): NodeHttpHandler | NodeHttp2Handler {
  const handle: NodeHttpHandler["handle"] = handler.handle.bind(handler);
  const boundHandle: typeof handle = async (request, options) => {
    const answer = await handle(request, options);
    const { body, headers } = answer.response;
    if (/eventstream/.test(headers["content-type"] ?? "")) answer.response.body = Readable.from(bounded(body));
    return answer;
  };
  handler.handle = boundHandle;
  return handler;
}

async function* bounded(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const length = Buffer.alloc(lengthBytes);
  let known = 0;
  let left = 0;
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) {
        length[known] = chunk[at] as number;
        known += 1;
        at += 1;
        if (known < lengthBytes) continue;
        known = 0;
        const announced = length.readUInt32BE();
        if (announced < minMessageBytes || announced > maxMessageBytes) {
          throw new Error(`a message of the event stream announces ${announced} bytes`);
        }
        left = announced - lengthBytes;
      } else {
        const passed = Math.min(left, chunk.length - at);
        left -= passed;
        at += passed;
      }
    }
    yield chunk;
  }
}
