/**
 * Notifications of new objects from SQS: bodies of S3 itself, wrapped by SNS, or from EventBridge. Heartbeats keep a
 * message hidden while its objects are loaded, and it is deleted only when their rows are durable. One that cannot be
 * loaded or understood is left alone, so that the queue's own rule moves it to the dead-letter queue.
 */

import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { isObject, parsedJson } from "../../../lib/json.ts";
import { Dialer } from "../../../outgoing/dialer.ts";
import { agentsOf } from "../../../outgoing/http.ts";
import { boundedAnswer } from "../../aws/bounded-answers.ts";
import { credentialsOf } from "../../aws/credentials.ts";
import { answersInTime } from "../../aws/request-handler.ts";
import type { NetworkContext } from "../../contract/source.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import { bareEtag, type ObjectFile } from "../stores/store.ts";
import { loginOf, storeError } from "../stores/store-error.ts";

/** A message is hidden without a heartbeat for the queue's own visibility timeout, limited to these bounds. */
const visibilityBoundsS = { least: 2, most: 60 };
/** Two consecutive heartbeats may fail before a message is delivered again. */
const heartbeatsPerTimeout = 3;
const longPollS = 10;

export type Notified = {
  readonly receipt: string;
  /** Objects that were created. Size and version come from the event, undefined when it lacks them. */
  readonly objects: readonly { readonly key: string; readonly file: ObjectFile | undefined }[];
  /** False when the body cannot be understood. */
  readonly understood: boolean;
};

/** What a source needs of a queue. */
export type NotificationQueue = Pick<SqsQueue, "receive" | "remove" | "leave" | "close">;

export class SqsQueue {
  readonly #client: SQSClient;
  readonly #url: string;
  readonly #login: string;
  readonly #bucket: string | undefined;
  readonly #held = new Set<string>();
  /** Held messages whose rows are durable, until the queue has deleted them. */
  readonly #done = new Set<string>();
  #hiding: { readonly seconds: number; readonly timer: NodeJS.Timeout } | undefined;

  /** `bucket`: what it is called in notifications; undefined takes those of every bucket. */
  constructor(config: ObjectStorageConfig, queueUrl: string, network: NetworkContext, bucket?: string) {
    const { origin, host } = new URL(queueUrl);
    const region = /^sqs\.([a-z0-9-]+)\./.exec(host)?.[1] ?? "us-east-1";
    const credentials = credentialsOf("source.objectStorage", config, region, network);
    const agents = agentsOf(new Dialer(network.policy, "source.objectStorage.queueUrl"));
    this.#url = queueUrl;
    this.#login = loginOf(config);
    this.#bucket = bucket;
    this.#client = new SQSClient({
      region,
      endpoint: origin,
      maxAttempts: 3,
      streamCollector: boundedAnswer,
      requestHandler: answersInTime(agents),
      ...(credentials === undefined ? {} : { credentials }),
    });
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#visibilityTimeout(signal);
  }

  /** Waits for a limited time; returns at most ten messages. */
  async receive(wait: boolean, signal: AbortSignal): Promise<Notified[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.#url,
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: wait ? longPollS : 0,
      VisibilityTimeout: await this.#startHiding(signal),
    });
    const { Messages = [] } = await this.#asking(() => this.#client.send(command, { abortSignal: signal }), signal);
    const messages = Messages.map((message) => readMessage(message, this.#bucket));
    for (const { receipt } of messages) this.#held.add(receipt);
    return messages;
  }

  /** The message's objects are durable. */
  async remove(receipts: readonly string[]): Promise<void> {
    for (const receipt of receipts) this.#done.add(receipt);
    await this.#deleteDone();
  }

  /** Stops the heartbeats: the queue will deliver the message again. */
  leave(receipt: string): void {
    this.#held.delete(receipt);
  }

  close(): void {
    clearInterval(this.#hiding?.timer);
    this.#client.destroy();
  }

  /** Starts the heartbeats with the first message; returns the seconds that one lasts. */
  async #startHiding(signal: AbortSignal): Promise<number> {
    if (this.#hiding === undefined) {
      const { least, most } = visibilityBoundsS;
      const seconds = Math.min(most, Math.max(least, await this.#visibilityTimeout(signal)));
      const timer = setInterval(() => void this.#heartbeat(seconds), (seconds * 1000) / heartbeatsPerTimeout);
      this.#hiding = { seconds, timer };
    }
    return this.#hiding.seconds;
  }

  async #visibilityTimeout(signal: AbortSignal): Promise<number> {
    const command = new GetQueueAttributesCommand({ QueueUrl: this.#url, AttributeNames: ["VisibilityTimeout"] });
    const answer = await this.#asking(() => this.#client.send(command, { abortSignal: signal }), signal);
    return Number(answer.Attributes?.VisibilityTimeout ?? visibilityBoundsS.most);
  }

  /** What the queue does not delete now stays hidden and is retried with the next heartbeat. */
  async #deleteDone(): Promise<void> {
    for (const receipts of inTens(this.#done)) {
      const Entries = receipts.map((ReceiptHandle, i) => ({ Id: String(i), ReceiptHandle }));
      const command = new DeleteMessageBatchCommand({ QueueUrl: this.#url, Entries });
      const answer = await this.#client.send(command).catch(() => undefined);
      if (answer === undefined) continue;
      const again = (answer.Failed ?? []).filter((entry) => entry.SenderFault !== true).map(({ Id }) => Number(Id));
      for (const [i, receipt] of receipts.entries()) {
        if (again.includes(i)) continue;
        this.#done.delete(receipt);
        this.#held.delete(receipt);
      }
    }
  }

  async #heartbeat(seconds: number): Promise<void> {
    await this.#deleteDone();
    for (const receipts of inTens(this.#held)) {
      const Entries = receipts.map((ReceiptHandle, i) => ({
        Id: String(i),
        ReceiptHandle,
        VisibilityTimeout: seconds,
      }));
      const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: this.#url, Entries });
      // A missed heartbeat means another delivery of the message, which is harmless.
      await this.#client.send(command).catch(() => {});
    }
  }

  async #asking<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw error;
      const members = { name: "queueUrl", address: "queueUrl", login: this.#login };
      throw storeError(error, { name: "The queue", expected: "a queue", address: new URL(this.#url).origin, members });
    }
  }
}

/** The queue accepts ten entries per request. */
function inTens(receipts: ReadonlySet<string>): string[][] {
  const all = [...receipts];
  return Array.from({ length: Math.ceil(all.length / 10) }, (_, i) => all.slice(10 * i, 10 * i + 10));
}

type Bucket = { readonly name?: string };

type S3Record = {
  readonly eventName?: string;
  readonly s3?: {
    readonly bucket?: Bucket;
    readonly object?: { readonly key?: string; readonly size?: number; readonly eTag?: string };
  };
};

type Body = {
  readonly Records?: readonly S3Record[];
  readonly Message?: string;
  readonly Event?: string;
  readonly "detail-type"?: string;
  readonly detail?: {
    readonly bucket?: Bucket;
    readonly object?: { readonly key?: string; readonly size?: number; readonly etag?: string };
  };
};

/** Objects of another bucket than `bucket` are not among those of the message. */
export function readMessage(message: Pick<Message, "Body" | "ReceiptHandle">, bucket: string | undefined): Notified {
  try {
    return readBody(message, ({ name = bucket } = {}) => bucket === undefined || name === bucket);
  } catch {
    // A key that is not valid percent-encoding, for example.
    return { receipt: message.ReceiptHandle ?? "", objects: [], understood: false };
  }
}

type IsOurs = (bucket: Bucket | undefined) => boolean;

function readBody(message: Pick<Message, "Body" | "ReceiptHandle">, isOurs: IsOurs): Notified {
  const receipt = message.ReceiptHandle ?? "";
  const body = bodyOf(message.Body);
  // SNS without raw delivery wraps the event in a string.
  const event = typeof body?.Message === "string" ? bodyOf(body.Message) : body;
  if (event?.Event === "s3:TestEvent") return { receipt, objects: [], understood: true };
  if (typeof event?.["detail-type"] === "string") {
    const object = event.detail?.object;
    const created = event["detail-type"] === "Object Created" && object?.key !== undefined;
    const objects =
      created && isOurs(event.detail?.bucket) ? [objectOf(object.key as string, object.etag, object.size)] : [];
    return { receipt, objects, understood: true };
  }
  if (!Array.isArray(event?.Records)) return { receipt, objects: [], understood: false };
  const objects = event.Records.flatMap(({ eventName, s3 }) => {
    if (!/^(s3:)?ObjectCreated:/.test(eventName ?? "") || s3?.object?.key === undefined || !isOurs(s3.bucket))
      return [];
    // S3 encodes keys like a form: a plus means a space.
    const key = decodeURIComponent(s3.object.key.replaceAll("+", " "));
    return [objectOf(key, s3.object.eTag, s3.object.size)];
  });
  return { receipt, objects, understood: true };
}

function objectOf(key: string, etag: string | undefined, size: number | undefined) {
  const known = etag !== undefined && etag !== "" && size !== undefined;
  return { key, file: known ? { key, etag: bareEtag(etag), size } : undefined };
}

function bodyOf(text: string | undefined): Body | undefined {
  const value = parsedJson(text ?? "");
  return isObject(value) ? value : undefined;
}
