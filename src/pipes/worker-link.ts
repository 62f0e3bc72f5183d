/** The worker's end of the IPC channel: calls that wait for an answer, and reports that do not. */
import type { FromWorker, ToWorker, WorkerCalls } from "./protocol.ts";

export type WorkerLink = {
  call<M extends keyof WorkerCalls>(
    method: M,
    argument: Parameters<WorkerCalls[M]>[0],
  ): Promise<ReturnType<WorkerCalls[M]>>;
  report(message: Exclude<FromWorker, { type: "call" }>): Promise<void>;
  onMessage(listener: (message: ToWorker) => void): void;
};

export function openWorkerLink(): WorkerLink {
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  const send = (message: FromWorker) =>
    new Promise<void>((resolve, reject) => {
      if (process.send === undefined) return reject(new Error("not started by the control plane"));
      process.send(message, undefined, {}, (error) => (error === null ? resolve() : reject(error)));
    });
  process.on("message", (message: ToWorker) => {
    if (message.type !== "answer") return;
    const waiter = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error === undefined) waiter?.resolve(message.value as never);
    else waiter?.reject(new Error(message.error));
  });
  return {
    call: (method, argument) =>
      new Promise((resolve, reject) => {
        lastId += 1;
        waiting.set(lastId, { resolve: resolve as (value: never) => void, reject });
        send({ type: "call", id: lastId, method, argument }).catch(reject);
      }),
    report: send,
    onMessage: (listener) => {
      process.on("message", listener);
    },
  };
}
