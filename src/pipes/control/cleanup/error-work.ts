/**
 * Carries out requests for refused rows: each pipe with pending ones gets a worker of its own, beside those that read
 * the source or without them. The worker ends when no request is left. A pipe that is stopped is not started by it.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { TaskTable } from "../../../lib/task-table.ts";
import { allLeases, type Leases } from "../../../store/nodes/leases.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";
import type { Service } from "../../../store/services/services.ts";
import { fullConfig, jobOf } from "../definition/definition.ts";
import { problemOf, sealedOtherwise } from "../definition/stored-definition.ts";
import type { ReplicaParts } from "../supervisor/replica.ts";
import { hasOutcome, presenceOf, wantedOf } from "../supervisor/state.ts";
import type { PipeWorker, SupervisorOptions } from "../supervisor/supervisor.ts";

export type ErrorWorkOptions = Omit<SupervisorOptions, "leftovers" | "cdcScaling">;

type Run = { readonly generation: number; readonly worker: PipeWorker };

export class ErrorWork {
  readonly #options: ErrorWorkOptions;
  readonly #leases: Leases;
  readonly #tasks: TaskTable;
  readonly #runs = new Map<string, Run>();
  /** Pipes whose work has died: it is repeated in a process of its own. */
  readonly #alone = new Set<string>();

  constructor(options: ErrorWorkOptions) {
    this.#options = options;
    this.#leases = options.leases ?? allLeases("");
    this.#leases.onLost(() => this.#endLost());
    this.#tasks = new TaskTable({
      poke: options.poke,
      onFailure: (pipeId, err) => options.logger.error({ err, pipeId }, "work on refused rows failed"),
      now: options.now,
    });
  }

  /** One pass over all pipes with a request or a worker. After the supervisor's, which ends workers of earlier runs. */
  async pass(): Promise<void> {
    const { pipes, services, errorRequests } = this.#options;
    const wanted = new Set(await errorRequests.pipesWithWork());
    for (const id of new Set([...wanted, ...this.#runs.keys()])) {
      if (!this.#tasks.isFree(id)) continue;
      // The supervisor claims pipes; what it does not have is ended here, too.
      if (!this.#leases.holds("pipe", id)) {
        this.#look(id, undefined);
        continue;
      }
      const pipe = await pipes.find(id);
      const service = pipe && (await services.find(pipe.serviceId));
      const isWanted = wanted.has(id) && pipe !== undefined && mayWork(pipe, service);
      this.#look(id, isWanted ? pipe : undefined);
    }
  }

  /** Ends every worker; requests stay pending. */
  async close(): Promise<void> {
    await this.#tasks.close();
    await Promise.all([...this.#runs.keys()].map((id) => this.#end(id)));
  }

  /** Without the database, which may not answer. */
  #endLost(): void {
    for (const id of this.#runs.keys()) {
      if (!this.#leases.holds("pipe", id)) this.#tasks.run(id, () => this.#end(id));
    }
  }

  #look(id: string, pipe: Pipe | undefined): void {
    const run = this.#runs.get(id);
    if (run === undefined) {
      if (pipe !== undefined && this.#tasks.mayStart(id)) this.#tasks.run(id, () => this.#start(pipe));
    } else if (pipe === undefined || run.generation !== pipe.generation || run.worker.isLeaving) {
      this.#tasks.run(id, () => this.#end(id));
    } else if (run.worker.over || hasOutcome(run.worker.status)) {
      this.#tasks.run(id, () => this.#settle(id, run.worker));
    } else this.#tasks.runs(id);
  }

  async #start(pipe: Pipe): Promise<void> {
    const { pipes, services, errorRequests, limits, policy } = this.#options;
    const secrets = await pipes.secrets(pipe.id);
    if (secrets === undefined) return await errorRequests.fail(pipe.id, sealedOtherwise(pipe.sourceKind));
    const problem = problemOf(pipe, fullConfig(pipe, secrets));
    if (problem !== undefined) return await errorRequests.fail(pipe.id, problem);
    const organizationId = (await services.find(pipe.serviceId))?.organizationId ?? "";
    const replica = { index: 0, count: 1, run: randomUUID() };
    const job = jobOf(pipe, secrets, {
      task: "error-requests",
      replica,
      fence: this.#leases.fenceOf("pipe", pipe.id),
      limits,
      organizationId,
      outgoing: policy.rules,
    });
    const worker = this.#options.startWorker(this.#partsOf(pipe, job));
    this.#runs.set(pipe.id, { generation: pipe.generation, worker });
    this.#tasks.started(pipe.id);
  }

  #partsOf(pipe: Pipe, job: ReplicaParts["job"]): ReplicaParts {
    return {
      ...this.#options,
      job,
      serviceId: pipe.serviceId,
      pidFile: join(this.#options.dataDir, "pipes", `${pipe.id}.again.pid`),
      name: `${pipe.id}-again`,
      isAlone: this.#alone.has(pipe.id),
      changed: this.#options.poke,
    };
  }

  /** The worker has ended, or reported how it ends. */
  async #settle(id: string, worker: PipeWorker): Promise<void> {
    const { errorRequests, logger } = this.#options;
    const { status, how, fault } = worker;
    await this.#end(id);
    if (status.phase === "completed") return this.#forgive(id);
    if (status.phase === "failed") return await errorRequests.fail(id, status.reason);
    if (fault === "neighbour") return;
    const death = this.#tasks.died(id, `the worker ended unexpectedly (${how})`);
    this.#alone.add(id);
    logger.warn({ pipeId: id, deaths: death.count, reason: death.message }, "worker for refused rows died");
    if (death.gaveUp) await errorRequests.fail(id, death.message);
  }

  #forgive(id: string): void {
    this.#tasks.forgive(id);
    this.#alone.delete(id);
  }

  async #end(id: string): Promise<void> {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    await run.worker.stop();
    rmSync(run.worker.pidFile, { force: true });
    this.#runs.delete(id);
  }
}

/** Also for a stopped pipe, but not while it starts over, is deleted, or has no engine. */
function mayWork(pipe: Pipe, service: Service | undefined): boolean {
  const wanted = wantedOf(pipe, service);
  return wanted !== "deleted" && wanted !== "resync" && presenceOf(service) === "present";
}
