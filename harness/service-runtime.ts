/** A runtime of services whose engines are promises: a test controls every death and delay. */
import { abortable, sleep } from "../src/lib/abort.ts";
import type { RunningEngine, ServiceRuntime } from "../src/services/runtime.ts";
import type { Transition } from "../src/services/transitions.ts";
import type { Service } from "../src/store/services/services.ts";

export class FakeRuntime implements ServiceRuntime {
  starts = 0;
  live = 0;
  removed: string[] = [];
  failStarts = 0;
  failure = new Error("no such binary");
  /** What a start waits for. */
  mayStart: Promise<void> = Promise.resolve();
  /** True while the running engine has the newest options. */
  isCurrent = true;
  knowsRights = true;
  diskLimit: number | undefined;
  die: (how: string) => void = () => {};
  connects = 0;
  halts: string[] = [];
  /** Lasts until it is no longer wanted. */
  haltsForever = false;

  async start(_service?: Service, transition?: Transition): Promise<RunningEngine> {
    this.starts += 1;
    await abortable(this.mayStart, transition?.signal ?? new AbortController().signal);
    if (this.failStarts > 0) {
      this.failStarts -= 1;
      throw this.failure;
    }
    this.live += 1;
    this.isCurrent = true;
    this.knowsRights = true;
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    this.die = resolve;
    ended.then(() => {
      this.live -= 1;
    });
    const address = { host: "127.0.0.1", port: 1 };
    return {
      address,
      process: { pid: 1, memoryGb: 1 },
      readerAddress: address,
      isCurrent: async () => this.isCurrent,
      knowsRights: async () => this.knowsRights,
      forwardAddress: { port: this.starts, key: "k" },
      version: "1.2",
      limitDisk: (bytes) => {
        this.diskLimit = bytes;
      },
      ended,
      stop: async () => resolve("asked"),
    };
  }

  async connect(): Promise<RunningEngine> {
    this.connects += 1;
    const address = { host: "127.0.0.1", port: 1 };
    const end = Promise.withResolvers<string>();
    return {
      ...{ address, readerAddress: address, isCurrent: async () => true, forwardAddress: { port: 1, key: "k" } },
      ...{ version: "1.2", limitDisk: () => {}, ended: end.promise, stop: async () => end.resolve("asked") },
    };
  }

  async halt({ id }: Service, { signal, report }: Transition): Promise<void> {
    this.halts.push(id);
    if (!this.haltsForever) return;
    await report("waits for the pods");
    await sleep(2 ** 31 - 1, signal);
    signal.throwIfAborted();
  }

  async remove({ id }: Service): Promise<void> {
    this.removed.push(id);
  }
}
