/** A job's end of the calls to the control plane. */
import { AppError } from "../../lib/errors.ts";
import type { Calls, FromWorkerSlot, ToWorkerSlot } from "../protocol.ts";

type Reply = Extract<ToWorkerSlot, { type: "reply" }>;
type Call = Extract<FromWorkerSlot, { type: "call" }>;

export class WorkerLink {
  readonly #send: (call: Omit<Call, "slot">) => void;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #last = 0;

  constructor(send: (call: Omit<Call, "slot">) => void) {
    this.#send = send;
  }

  readonly calls: Calls = new Proxy({} as Calls, {
    get:
      (_, name) =>
      (...args: unknown[]) =>
        this.#call(name as keyof Calls, args),
  });

  /** `handle` came with the reply, and then is the result. */
  settle(reply: Reply, handle?: unknown): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.error === undefined) waiting?.resolve(handle ?? reply.result);
    else waiting?.reject(new AppError(reply.error.code, reply.error.message));
  }

  #call(name: keyof Calls, args: readonly unknown[]): Promise<unknown> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ type: "call", id, name, args });
    });
  }
}
