/**
 * Notifications of new objects through an SQS queue. A message is deleted only after the rows of all its objects are
 * durable; meanwhile it is kept invisible. A message that cannot be understood, or whose object cannot be loaded, is
 * left in the queue, so that the queue's own redrive policy moves it to its dead-letter queue. What an event says about
 * an object is not believed: its present version counts, so duplicates and events out of order do no harm.
 */
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { sleep } from "../../lib/abort.ts";
import type { SourceContext } from "../source.ts";
import { asSourceError, keyProvider } from "./aws.ts";
import { createdObjects } from "./events.ts";
import type { InFlight } from "./in-flight.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import type { Lister } from "./lister.ts";
import type { Location } from "./location.ts";
import { patiently } from "./patience.ts";
import type { ObjectStore, StoredObject } from "./store.ts";

/** A received message stays invisible for this long, and is kept so while its objects are on their way. */
const visibilitySeconds = 60;
const heartbeatMs = (visibilitySeconds * 1000) / 3;
/** How long one request waits for messages. */
const waitSeconds = 2;
const maxHeld = 5000;

type Options = {
  readonly queueUrl: string;
  readonly config: ObjectStorageConfig;
  readonly location: Location;
  readonly context: SourceContext;
  readonly store: ObjectStore;
  readonly lister: Lister;
};

type Held = { readonly receipt: string; readonly keys: Set<string> };

export class Notifications {
  readonly #options: Options;
  readonly #client: SQSClient;
  /** Messages whose objects are on their way, by message id. */
  readonly #held = new Map<string, Held>();
  readonly #heartbeat: NodeJS.Timeout;

  static async open(options: Options): Promise<Notifications> {
    const { region, endpoint } = queueAddress(options.queueUrl);
    const keys = keyProvider(options.config, region);
    await keys();
    const client = new SQSClient({
      region,
      endpoint,
      maxAttempts: 2,
      credentials: async () => {
        const current = await keys();
        if (current === undefined) throw new Error("no credentials");
        return current;
      },
    });
    return new Notifications(options, client);
  }

  constructor(options: Options, client: SQSClient) {
    this.#options = options;
    this.#client = client;
    this.#heartbeat = setInterval(() => void this.#keepInvisible(), heartbeatMs);
  }

  /** Objects to load, in portions that came together. Ends only with the signal. */
  async *objects(inFlight: InFlight, signal: AbortSignal): AsyncGenerator<StoredObject[]> {
    while (!signal.aborted) {
      const messages = await this.#collect(signal);
      const objects: StoredObject[] = [];
      for (const message of messages) objects.push(...(await this.#open(message, inFlight, signal)));
      // Two messages may name the same object: one load serves both.
      const unique = [...new Map(objects.map((object) => [object.key, object])).values()];
      if (unique.length > 0) yield unique;
      while (this.#held.size >= maxHeld && !signal.aborted) await sleep(100, signal);
    }
  }

  /** To be called when objects are durable or given up; deletes the messages that nothing more is waited for. */
  async loaded(keys: readonly string[], failed: boolean): Promise<void> {
    for (const [id, held] of this.#held) {
      const waitedFor = keys.some((key) => held.keys.delete(key));
      if (!waitedFor) continue;
      if (failed) this.#held.delete(id);
      else if (held.keys.size === 0) {
        this.#held.delete(id);
        await this.#delete(held.receipt);
      }
    }
  }

  close(): void {
    clearInterval(this.#heartbeat);
    this.#client.destroy();
  }

  /** Messages of the polling interval, or as many as one load may take. */
  async #collect(signal: AbortSignal): Promise<Message[]> {
    const { settings } = this.#options.context;
    const maxFiles = Number(settings.object_storage_max_file_count ?? 100);
    const until = Date.now() + Math.min(5000, Number(settings.object_storage_polling_interval_ms ?? 30_000));
    const collected: Message[] = [];
    do {
      const received = await patiently(this.#options.context, () => this.#receive(signal), signal);
      collected.push(...received);
      if (received.length === 0) break;
    } while (collected.length < maxFiles && Date.now() < until && !signal.aborted);
    return collected;
  }

  async #receive(signal: AbortSignal): Promise<Message[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.#options.queueUrl,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: visibilitySeconds,
      WaitTimeSeconds: waitSeconds,
    });
    try {
      return (await this.#client.send(command, { abortSignal: signal })).Messages ?? [];
    } catch (error) {
      throw asSourceError(error, "queue", queueAddress(this.#options.queueUrl).endpoint);
    }
  }

  /** The objects of a message that are to be loaded. The message is deleted at once when there is nothing to wait for. */
  async #open(message: Message, inFlight: InFlight, signal: AbortSignal): Promise<StoredObject[]> {
    const { context, store, lister, location } = this.#options;
    const receipt = message.ReceiptHandle ?? "";
    const bucket = location.kind === "s3" ? location.bucket : location.container;
    const created = createdObjects(message.Body ?? "");
    if (created === undefined) return [];
    const keys = created.filter((event) => event.bucket === bucket && lister.matches(event.key)).map(({ key }) => key);
    const present: StoredObject[] = [];
    for (const key of new Set(keys)) {
      const object = await patiently(context, () => store.head(key, signal), signal);
      if (object !== undefined && object.size > 0) present.push(object);
    }
    const marks = await lister.marks(present);
    const open = present.filter(({ key, etag }) => marks.get(key)?.etag !== etag);
    const givenUp = present.some(({ key, etag }) => marks.get(key)?.etag === etag && marks.get(key)?.failed === true);
    if (givenUp) return [];
    if (open.length === 0) {
      await this.#delete(receipt);
      return [];
    }
    this.#held.set(message.MessageId ?? receipt, { receipt, keys: new Set(open.map(({ key }) => key)) });
    return open.filter(({ key }) => !inFlight.has(key));
  }

  async #delete(receipt: string): Promise<void> {
    const command = new DeleteMessageCommand({ QueueUrl: this.#options.queueUrl, ReceiptHandle: receipt });
    // A message that stays comes again, is found to be loaded, and is deleted then.
    await this.#client.send(command).catch(() => {});
  }

  async #keepInvisible(): Promise<void> {
    for (const { receipt } of this.#held.values()) {
      const command = new ChangeMessageVisibilityCommand({
        ...{ QueueUrl: this.#options.queueUrl, ReceiptHandle: receipt, VisibilityTimeout: visibilitySeconds },
      });
      // A message that becomes visible again is received again, which does no harm.
      await this.#client.send(command).catch(() => {});
    }
  }
}

/** `https://sqs.<region>.amazonaws.com/<account>/<name>`, or any other server's address. */
export function queueAddress(queueUrl: string): { endpoint: string; region: string } {
  const url = new URL(queueUrl);
  return { endpoint: url.origin, region: /^sqs\.([a-z0-9-]+)\./.exec(url.hostname)?.[1] ?? "us-east-1" };
}
