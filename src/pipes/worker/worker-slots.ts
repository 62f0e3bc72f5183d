/**
 * The jobs that one worker process runs at the same time. Each has a worker slot of its own, with its calls and its
 * signal. A job that throws ends alone. The rules for outgoing connections are those of the server, for all jobs.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { AppError } from "../../lib/errors.ts";
import { OutgoingPolicy } from "../../outgoing/policy.ts";
import { loadedConnector } from "../../sources/connectors.ts";
import type { Calls, FromWorker, FromWorkerSlot, Job, ToWorker, ToWorkerSlot, WorkerStatus } from "../protocol.ts";
import { runErrorRequests } from "./error-requests-job.ts";
import { runJob } from "./job.ts";

type Slot = { readonly link: WorkerLink; readonly stopping: AbortController };
/** A message of a slot, without its number. */
type Said = FromWorkerSlot extends infer M ? (M extends FromWorkerSlot ? Omit<M, "slot"> : never) : never;

export class WorkerSlots {
  readonly #send: (message: FromWorker) => void;
  readonly #slots = new Map<number, Slot>();
  #policy: OutgoingPolicy | undefined;
  /** The slot whose code runs. */
  readonly #current = new AsyncLocalStorage<number>();

  constructor(send: (message: FromWorker) => void) {
    this.#send = send;
  }

  /** `handle` came with the message. */
  receive(message: ToWorker, handle: unknown): void {
    if (message.type === "start") this.#current.run(message.slot, () => this.#start(message.slot, message.job));
    else if (message.type === "stop") this.#slots.get(message.slot)?.stopping.abort();
    else if (message.type === "reply") this.#settle(message, handle);
    else if (message.type === "expect") {
      // What cannot be loaded is said by the job that needs it.
      loadedConnector(message.sourceKind, message.config).catch(() => {});
    } else if (this.#policy !== undefined) this.#policy.ownPorts = message.ownPorts;
  }

  /** Ends all jobs. */
  stopAll(): void {
    for (const { stopping } of this.#slots.values()) stopping.abort();
  }

  /** The slot whose code is running, or has just thrown; undefined when it is not known. */
  current(): number | undefined {
    return this.#current.getStore();
  }

  #settle(reply: Extract<ToWorkerSlot, { type: "reply" }>, handle: unknown): void {
    this.#slots.get(reply.slot)?.link.settle(reply, handle);
  }

  #start(slot: number, job: Job): void {
    const send = (said: Said) => this.#send({ ...said, slot } as FromWorkerSlot);
    const link = new WorkerLink(send);
    // Connections that jobs share outlive the job that opened them: their policy must be kept up to date, too.
    this.#policy ??= new OutgoingPolicy(job.outgoing);
    const policy = this.#policy;
    policy.ownPorts = job.outgoing.ownPorts;
    const stopping = new AbortController();
    this.#slots.set(slot, { link, stopping });
    const { permitEngine, listenForEngine } = link.calls;
    const network = { policy, organizationId: job.organizationId, permitEngine, listenForEngine };
    const known: Record<string, number> = {};
    const events = {
      tell: (status: WorkerStatus) => send({ type: "status", status }),
      // Most reports of idle pipes repeat the one before.
      gauges: (gauges: Readonly<Record<string, number>>) => {
        const changed = Object.entries(gauges).filter(([name, value]) => known[name] !== value);
        if (changed.length === 0) return;
        Object.assign(known, gauges);
        send({ type: "gauges", gauges: Object.fromEntries(changed) });
      },
    };
    const run = job.task === "error-requests" ? runErrorRequests : runJob;
    const ended = (failed: boolean) => {
      this.#slots.delete(slot);
      send({ type: "ended", failed });
    };
    run(job, network, () => loadedConnector(job.sourceKind, job.config), link.calls, events, stopping.signal)
      .then((status) => {
        events.tell(status);
        ended(false);
      })
      .catch((error: unknown) => {
        const what = error instanceof Error ? error.stack : error;
        process.stderr.write(`pipe ${job.pipeId} cannot go on: ${what}\n`);
        ended(true);
      });
  }
}

type Reply = Extract<ToWorkerSlot, { type: "reply" }>;
type Call = Extract<FromWorkerSlot, { type: "call" }>;

/** A job's end of the calls to the control plane. */
class WorkerLink {
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
