/**
 * The worker processes of all pipes. Places replicas in them, and looks after them: a process that takes too much
 * memory is left by its pipes and ended, one whose event loop hangs is killed, and a pipe that keeps the event loop
 * busy gets a process of its own.
 */

import { availableParallelism } from "node:os";
import type { ReadyLauncher } from "../../../confinement/ready-launcher.ts";
import type { Logger } from "../../../lib/logger.ts";
import { residentBytes } from "../../../lib/process.ts";
import { kindOf } from "../../../sources/contract/registry.ts";
import { BusyWatch } from "./busy-watch.ts";
import { type Classed, choose, workerClassOf } from "./placement.ts";
import { type Tenant, Worker } from "./worker.ts";
import { startWorkerProcess, usesOwnCredentials } from "./worker-process.ts";

/** Interval of looks at memory and load. */
const lookEveryMs = 5_000;
/** A process is not replaced more often than this, however much memory its pipes take. */
const leastLifeMs = 60_000;
/** A process that says nothing for so long hangs. */
const silenceMs = 60_000;

/** A process that was started for a pipe ends after this time without one. Longer than the checks of a pipe take. */
const expectedMs = 30_000;

const megabyte = 2 ** 20;
/** What a process takes beside the memory that its pipe may use. */
const ownMemoryBytes = 256 * megabyte;

export type PoolOptions = {
  /** Distinguishes installations. */
  readonly dataDir: string;
  /** Processes per class. */
  readonly workers: number;
  /** Memory above which a shared process is replaced. */
  readonly memoryMb: number;
  /** True when organizations may share processes. */
  readonly isShared: boolean;
  /** The folder of what was sent to the pipes of an organization, or of all. It exists. */
  readonly inboxFolder: (organizationId: string | undefined) => string;
  readonly readyLauncher?: ReadyLauncher | undefined;
  readonly logger: Logger;
  readonly poke: () => void;
};

/** A replica to place. */
export type Request = Classed & {
  readonly pipeId: string;
  /** Unique among running replicas. */
  readonly name: string;
  /** True for a pipe that must not share a process. */
  readonly isAlone: boolean;
  /** Limits of the operator for this replica, which then gets a process of its own. */
  readonly limits: { readonly memoryGb?: number | undefined; readonly cpuMillicores?: number | undefined };
};

export type WorkerView = {
  readonly name: string;
  readonly pid: number;
  /** The organization whose pipes it runs; undefined when organizations share it. */
  readonly organizationId: string | undefined;
  readonly sourceKind: string;
  /** True for a process of one pipe, which no other one joins. */
  readonly isOwn: boolean;
  readonly pipeIds: readonly string[];
  readonly memoryBytes: number | undefined;
  readonly memoryLimitBytes: number;
  readonly utilization: number;
};

type Held = {
  readonly worker: Worker;
  readonly class: string;
  readonly isOwn: boolean;
  readonly organizationId: string | undefined;
  readonly sourceKind: string;
  readonly memoryLimitBytes: number;
};

export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #held = new Map<string, Held>();
  readonly #busy = new BusyWatch(availableParallelism());
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Such a pipe, here without its secrets, is about to be created: a process for it starts while it is checked. */
  expect(pipe: Classed): void {
    const key = this.#classOf(pipe);
    const running = this.#shared(key);
    if (running.length >= this.#options.workers || running.some(({ worker }) => worker.pipeIds.length === 0)) return;
    const { worker } = this.#startShared(key, pipe);
    worker.expect(pipe);
    setTimeout(() => worker.leaveUnused(), expectedMs).unref();
  }

  /** Ends the processes that no pipe has come to. */
  leaveUnused(): void {
    for (const { worker } of this.#held.values()) worker.leaveUnused();
  }

  /** Opens a slot for the replica, in a running process or a new one. */
  open(request: Request, tenant: Tenant): { readonly worker: Worker; readonly slot: number } {
    const held = this.#place(request);
    return { worker: held.worker, slot: held.worker.open(tenant) };
  }

  /** Sends all processes the ports that their pipes must not connect to from now on. */
  tellOwnPorts(ownPorts: readonly number[]): void {
    for (const { worker } of this.#held.values()) worker.tellOwnPorts(ownPorts);
  }

  /** True when the tenant should end and start again, because it keeps the event loop of others busy. */
  mustMove(tenant: Tenant): boolean {
    return this.#busy.mustMove(tenant);
  }

  /** Looks after the processes, every few seconds. */
  look(now = performance.now()): void {
    if (now - this.#lookedAt < lookEveryMs) return;
    this.#lookedAt = now;
    for (const held of this.#held.values()) this.#lookAt(held, now);
    const shared = [...this.#held.values()].filter(({ isOwn }) => !isOwn).map(({ worker }) => worker);
    const moved = this.#busy.look(shared, now);
    if (moved === undefined) return;
    this.#options.logger.info({ pipeId: moved.pipeId }, "a busy pipe gets a worker of its own");
    this.#options.poke();
  }

  views(): WorkerView[] {
    return [...this.#held.values()].flatMap(({ worker, class: _, ...facts }) => {
      const { pid, name, pipeIds, utilization } = worker;
      if (pid === undefined || worker.isOver) return [];
      return [{ ...facts, name, pid, pipeIds, utilization, memoryBytes: residentBytes(pid) }];
    });
  }

  #place(request: Request): Held {
    const key = this.#classOf(request);
    const { memoryGb, cpuMillicores } = request.limits;
    const isLimited = memoryGb !== undefined || cpuMillicores !== undefined;
    // In this order: a busy pipe is remembered for one start only.
    if (this.#busy.takeMoved(request.pipeId) || isLimited || request.isAlone) return this.#startOwn(key, request);
    const candidates = this.#shared(key).map((held) => {
      return { held, pipeIds: held.worker.pipeIds, utilization: held.worker.utilization };
    });
    return choose(candidates, request.pipeId, this.#options.workers)?.held ?? this.#startShared(key, request);
  }

  #classOf(pipe: Classed): string {
    const { isShared, dataDir } = this.#options;
    // Not the same for all installations: names of control groups follow from it.
    return workerClassOf(pipe, isShared ? dataDir : undefined);
  }

  /** The processes that accept pipes of this class. */
  #shared(key: string): Held[] {
    return [...this.#held.values()].filter((held) => held.class === key && !held.isOwn && !held.worker.isLeaving);
  }

  #startOwn(key: string, request: Request): Held {
    const { memoryGb, cpuMillicores } = request.limits;
    const memoryBytes = memoryGb === undefined ? undefined : memoryGb * 1024 * megabyte;
    const limits = {
      // The replica is replaced before, so that the kernel kills it only when it takes much at once.
      ...(memoryBytes === undefined ? {} : { memoryBytes: 1.5 * memoryBytes + 2 * ownMemoryBytes }),
      ...(cpuMillicores === undefined ? {} : { cpuMillicores }),
    };
    const memoryLimitBytes =
      memoryBytes === undefined ? this.#options.memoryMb * megabyte : memoryBytes + ownMemoryBytes;
    return this.#start(request, { name: request.name, limits, class: key, isOwn: true, memoryLimitBytes });
  }

  #startShared(key: string, request: Classed): Held {
    let index = 0;
    while (this.#held.has(`${key}-${index}`)) index += 1;
    const name = `${key}-${index}`;
    const memoryLimitBytes = this.#options.memoryMb * megabyte;
    return this.#start(request, { name, limits: {}, class: key, isOwn: false, memoryLimitBytes });
  }

  #start(request: Classed, how: StartHow): Held {
    const { name, limits, isOwn, memoryLimitBytes } = how;
    const { logger, readyLauncher, isShared, poke, inboxFolder } = this.#options;
    const { organizationId: owner, sourceKind } = request;
    const organizationId = isShared && !isOwn ? undefined : owner;
    const child = startWorkerProcess({
      name,
      limits,
      hasCredentials: usesOwnCredentials(request.config),
      readyLauncher,
      readFolders: kindOf(sourceKind).hasInbox === true ? [inboxFolder(organizationId)] : [],
    });
    const changed = () => {
      if (worker.isOver && this.#held.get(name)?.worker === worker) this.#held.delete(name);
      poke();
    };
    const worker: Worker = new Worker({ name, child, logger, changed });
    const held = { worker, class: how.class, isOwn, organizationId, sourceKind, memoryLimitBytes };
    this.#held.set(name, held);
    return held;
  }

  #lookAt({ worker, memoryLimitBytes }: Held, now: number): void {
    const { logger } = this.#options;
    if (now - (worker.heardAt ?? now) > silenceMs) {
      logger.warn({ worker: worker.name }, "a pipe worker hangs and is killed");
      worker.kill();
      return;
    }
    if (worker.isLeaving || worker.pid === undefined || now - worker.startedAt < leastLifeMs) return;
    const memoryBytes = residentBytes(worker.pid) ?? 0;
    if (memoryBytes <= memoryLimitBytes) return;
    const pipes = worker.pipeIds.length;
    logger.warn({ worker: worker.name, memoryBytes, memoryLimitBytes, pipes }, "a pipe worker is replaced");
    worker.leave();
  }
}

type StartHow = Pick<Held, "class" | "isOwn" | "memoryLimitBytes"> & {
  readonly name: string;
  readonly limits: { readonly memoryBytes?: number; readonly cpuMillicores?: number };
};
