/** Which messages wait for which objects: a message is removed when the last of its objects is durable. */
import type { NotificationQueue, Notified } from "./queue.ts";

type Delivery = { readonly receipt: string; readonly open: Set<string>; failed: boolean };

export class Deliveries {
  readonly #queue: NotificationQueue;
  readonly #waiting = new Map<string, Set<Delivery>>();

  constructor(queue: NotificationQueue) {
    this.#queue = queue;
  }

  /** Lets go of every message: they come again. */
  forget(): void {
    for (const delivery of new Set([...this.#waiting.values()].flatMap((waiting) => [...waiting]))) {
      this.#queue.leave(delivery.receipt);
    }
    this.#waiting.clear();
  }

  /** The message stays held until every key is settled. */
  async hold(message: Notified, keys: readonly string[]): Promise<void> {
    const delivery = { receipt: message.receipt, open: new Set(keys), failed: false };
    if (delivery.open.size === 0) return await this.#queue.remove([message.receipt]);
    for (const key of delivery.open) {
      const waiting = this.#waiting.get(key) ?? new Set();
      this.#waiting.set(key, waiting.add(delivery));
    }
  }

  /** The object is durable, or, with `failed`, given up: its messages then go the queue's way to the dead letters. */
  async settle(key: string, failed: boolean): Promise<void> {
    const done: string[] = [];
    for (const delivery of this.#waiting.get(key) ?? []) {
      delivery.open.delete(key);
      delivery.failed ||= failed;
      if (delivery.open.size > 0) continue;
      if (delivery.failed) this.#queue.leave(delivery.receipt);
      else done.push(delivery.receipt);
    }
    this.#waiting.delete(key);
    if (done.length > 0) await this.#queue.remove(done);
  }
}
