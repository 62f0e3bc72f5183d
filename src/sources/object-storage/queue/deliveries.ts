/** Maps messages to their objects: a message is removed when the last of its objects is durable. */
import type { NotificationQueue, Notified } from "./queue.ts";

type Delivery = { readonly message: Notified; readonly open: Set<string>; failed: boolean };

export class Deliveries {
  readonly #queue: NotificationQueue;
  readonly #waiting = new Map<string, Set<Delivery>>();
  #expected: Notified[] = [];

  constructor(queue: NotificationQueue) {
    this.#queue = queue;
  }

  /** Messages received and not read yet. They stay hidden in the queue, also while the store does not answer. */
  expect(messages: readonly Notified[]): void {
    this.#expected.push(...messages);
  }

  /** The next message to read. It stays expected until it is held or left. */
  next(): Notified | undefined {
    return this.#expected[0];
  }

  /** Reading was interrupted: every unfinished message is read again, without another delivery by the queue. */
  forget(): void {
    const held = new Set([...this.#waiting.values()].flatMap((waiting) => [...waiting]));
    this.#waiting.clear();
    this.#expected.unshift(...[...held].map((delivery) => delivery.message));
  }

  /** The message cannot be understood. */
  leave(message: Notified): void {
    this.#queue.leave(message.receipt);
    this.#isRead(message);
  }

  /**
   * The message stays held until every key is settled. With `failed` it is then left to the queue, because one of its
   * objects is given up.
   */
  async hold(message: Notified, keys: readonly string[], failed: boolean): Promise<void> {
    const delivery = { message, open: new Set(keys), failed };
    for (const key of delivery.open) {
      const waiting = this.#waiting.get(key) ?? new Set();
      this.#waiting.set(key, waiting.add(delivery));
    }
    this.#isRead(message);
    if (delivery.open.size > 0) return;
    if (failed) this.#queue.leave(message.receipt);
    else await this.#queue.remove([message.receipt]);
  }

  /**
   * The object is durable, or, with `failed`, given up: its messages then go to the dead-letter queue by the queue's
   * rule.
   */
  async settle(key: string, failed: boolean): Promise<void> {
    const done: string[] = [];
    for (const delivery of this.#waiting.get(key) ?? []) {
      delivery.open.delete(key);
      delivery.failed ||= failed;
      if (delivery.open.size > 0) continue;
      if (delivery.failed) this.#queue.leave(delivery.message.receipt);
      else done.push(delivery.message.receipt);
    }
    this.#waiting.delete(key);
    if (done.length > 0) await this.#queue.remove(done);
  }

  #isRead(message: Notified): void {
    this.#expected = this.#expected.filter((expected) => expected !== message);
  }
}
