/**
 * One replica of a pipe, in a slot of a worker process. Its calls are answered only while it is current: a replaced
 * replica can change nothing.
 */
import { Server } from "node:net";
import type { ClickHouseAddress } from "../../../clickhouse/client.ts";
import type { AcquireEngine } from "../../../clickhouse/lease.ts";
import { AppError, publicMessage } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/logger.ts";
import { recordProcess } from "../../../lib/process.ts";
import type { Permits } from "../../../outgoing/permits.ts";
import { kindOf } from "../../../sources/contract/registry.ts";
import type { Inboxes } from "../../../sources/push/inbox/inboxes.ts";
import { readinessOf } from "../../../sources/push/readiness.ts";
import type { Stores } from "../../../store/open.ts";
import type { StoredIntent } from "../../../store/pipes/ledger-writes.ts";
import { StoredForms } from "../../durable.ts";
import { errorRequestShapes } from "../../error-requests.ts";
import { type Calls, errorRequestLane, type FromWorkerSlot, type Job, type WorkerStatus } from "../../protocol.ts";
import { listenForEngine } from "../workers/engine-listener.ts";
import type { Fault, Tenant, Told, Worker } from "../workers/worker.ts";
import type { WorkerPool } from "../workers/worker-pool.ts";
import { hasOutcome } from "./state.ts";

const stopGraceMs = 10_000;
/** A sentence when the service has no disk left for more data. */
export type DiskProblem = (serviceId: string) => Promise<string | undefined>;

/** What every replica uses of stores and other rooms. */
export type ReplicaDeps = Pick<Stores, "ledger" | "errorRequests"> & {
  readonly acquire: AcquireEngine;
  readonly permits: Permits;
  readonly diskProblem: DiskProblem;
  readonly inboxes: Pick<Inboxes, "of" | "remove">;
  /** Whether the service answers without being woken. */
  readonly isAwake: (serviceId: string) => boolean;
  readonly logger: Logger;
};

export type ReplicaParts = ReplicaDeps & {
  readonly job: Job;
  readonly serviceId: string;
  /** Names the process that runs it. */
  readonly pidFile: string;
  /** Unique among running replicas. */
  readonly name: string;
  /** True for a pipe that must not share a process. */
  readonly isAlone: boolean;
  /** Called when something has changed that the supervisor should check. */
  readonly changed: () => void;
};

export class Replica implements Tenant {
  readonly #parts: ReplicaParts;
  readonly #pool: WorkerPool;
  readonly #worker: Worker;
  readonly #slot: number;
  readonly #forms: StoredForms;
  readonly #leases = new Map<number, () => void>();
  readonly #permits: (() => void)[] = [];
  readonly #ended = new AbortController();
  readonly #exited = Promise.withResolvers<void>();
  /** As acquired last. */
  #engine: ClickHouseAddress | undefined;
  #lastLease = 0;
  #status: WorkerStatus = { phase: "preparing" };
  #gauges: Readonly<Record<string, number>> = {};
  #work = 0;
  #over = false;
  #how = "";
  #fault: Fault = "unknown";

  constructor(parts: ReplicaParts, pool: WorkerPool) {
    this.#parts = parts;
    this.#pool = pool;
    const { task, sourceKind, scaling, organizationId, config, pipeId } = parts.job;
    this.#forms = new StoredForms(task === "error-requests" ? errorRequestShapes : kindOf(sourceKind).durable);
    const limits = { memoryGb: scaling.replicaMemoryGb, cpuMillicores: scaling.replicaCpuMillicores };
    const { name, isAlone } = parts;
    const request = { organizationId, sourceKind, config, pipeId, name, isAlone, limits };
    const { worker, slot } = pool.open(request, this);
    this.#worker = worker;
    this.#slot = slot;
    if (worker.pid !== undefined) recordProcess(parts.pidFile, worker.pid);
    this.#send({ type: "start", job: parts.job });
  }

  get status(): WorkerStatus {
    return this.#status;
  }

  get gauges(): Readonly<Record<string, number>> {
    return this.#gauges;
  }

  /** True when it has ended, or its process has. */
  get over(): boolean {
    return this.#over;
  }

  /** How it ended. */
  get how(): string {
    return this.#how;
  }

  get fault(): Fault {
    return this.#fault;
  }

  /** True when it should be ended and started again, in another process. */
  get isLeaving(): boolean {
    return !this.#over && !hasOutcome(this.#status) && (this.#worker.isLeaving || this.#pool.mustMove(this));
  }

  get pidFile(): string {
    return this.#parts.pidFile;
  }

  get pipeId(): string {
    return this.#parts.job.pipeId;
  }

  get work(): number {
    return this.#work;
  }

  /** Has inserts in progress ended, for a limited time; resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    if (this.#over) return;
    this.#send({ type: "stop" });
    const ending = setTimeout(() => this.#worker.endStuck(this.#slot), stopGraceMs);
    await this.#exited.promise;
    clearTimeout(ending);
  }

  ended(how: string, fault: Fault): void {
    this.#over = true;
    this.#how = how;
    this.#fault = fault;
    this.#ended.abort();
    for (const release of this.#leases.values()) release();
    this.#leases.clear();
    for (const withdraw of this.#permits.splice(0)) withdraw();
    this.#exited.resolve();
    this.#parts.changed();
  }

  receive(message: FromWorkerSlot): void {
    if (message.type === "call") void this.#answer(message);
    else if (message.type === "gauges") this.#gauges = { ...this.#gauges, ...message.gauges };
    else if (message.type === "status") {
      this.#status = message.status;
      this.#parts.changed();
    }
  }

  async #answer({ id, name, args }: Extract<FromWorkerSlot, { type: "call" }>): Promise<void> {
    try {
      const calls = this.#calls;
      if (!Object.hasOwn(calls, name)) throw new AppError("BAD_REQUEST", "There is no such call.");
      const call = calls[name] as (...args: readonly unknown[]) => Promise<unknown>;
      const result = await call(...args);
      if (result instanceof Server) this.#send({ type: "reply", id }, result);
      else this.#send({ type: "reply", id, result });
    } catch (error) {
      const code = error instanceof AppError ? error.code : "INTERNAL";
      if (code === "INTERNAL") this.#parts.logger.error({ err: error, call: name }, "call of a pipe worker failed");
      this.#send({ type: "reply", id, error: { code, message: publicMessage(error) } });
    }
  }

  /** Workers that load and workers that replay refused rows have intents of their own. */
  readonly #isMine = ({ lane }: StoredIntent) =>
    (lane === errorRequestLane) === (this.#parts.job.task === "error-requests");

  get #calls(): Calls {
    const { ledger, errorRequests, job } = this.#parts;
    const { pipeId } = job;
    const forms = this.#forms;
    return {
      begin: async (intent) => {
        // Checked here and not in the engine: a batch that was begun must be inserted in any case.
        const problem = await this.#parts.diskProblem(this.#parts.serviceId);
        if (problem !== undefined) throw new AppError("LIMIT_REACHED", problem);
        await ledger.begin(pipeId, forms.writeIntent(intent), this.#ended.signal);
      },
      replace: (batchId, intents) =>
        ledger.replace(
          pipeId,
          batchId,
          intents.map((intent) => forms.writeIntent(intent)),
        ),
      confirm: async (done) => {
        await ledger.confirm(pipeId, forms.writeConfirmation(done));
        this.#work += done.counts.fetchedRows ?? 0;
      },
      note: (marks, counts) => ledger.note(pipeId, forms.writeMarks(marks), counts),
      forget: (lanes, marks) => ledger.forget(pipeId, lanes, marks),
      intents: async () =>
        (await ledger.intents(pipeId)).filter(this.#isMine).map((intent) => forms.readIntent(intent)),
      errorRequests: () => errorRequests.pending(pipeId),
      errorRequest: (id) => errorRequests.find(id),
      sizeErrorRequest: (id, rows) => errorRequests.sized(id, rows),
      finishErrorRequest: (id, outcome) => errorRequests.finish(id, outcome),
      checkpoints: async () => forms.readCheckpoints(await ledger.checkpoints(pipeId)),
      marks: async (keys) => forms.readMarks(await ledger.marks(pipeId, keys)),
      acquire: async () => {
        const { release, address } = await this.#parts.acquire(this.#parts.serviceId, this.#ended.signal);
        if (this.#over) {
          release();
          throw new AppError("SERVICE_UNAVAILABLE", "The pipe worker has ended.");
        }
        this.#engine = address;
        this.#lastLease += 1;
        this.#leases.set(this.#lastLease, release);
        return { lease: this.#lastLease, address };
      },
      permitEngine: async ({ host, port }) => {
        if (this.#over) return;
        this.#permits.push(this.#parts.permits.add(this.#parts.serviceId, { kind: "source", host, port }));
      },
      listenForEngine: async (isSure) => {
        const { permits, serviceId } = this.#parts;
        const { listener, withdraw } = await listenForEngine(permits, serviceId, this.#engine, isSure);
        if (this.#over) withdraw();
        else this.#permits.push(withdraw);
        return listener;
      },
      inboxFolder: async () => (await this.#inbox()).folder,
      inboxNews: async (after) => (await this.#inbox()).news(after, this.#readiness, this.#ended.signal),
      inboxLoaded: async (next) => (await this.#inbox()).loaded(next),
      release: async (lease) => {
        this.#leases.get(lease)?.();
        this.#leases.delete(lease);
      },
    };
  }

  #inbox() {
    const { organizationId, pipeId } = this.#parts.job;
    return this.#parts.inboxes.of({ organizationId, pipeId });
  }

  readonly #readiness = () => {
    const { job, serviceId, isAwake } = this.#parts;
    return readinessOf(job, isAwake(serviceId));
  };

  #send(told: Told, listener?: Server): void {
    this.#worker.send(this.#slot, told, listener);
  }
}
