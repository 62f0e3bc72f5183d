/**
 * Brings every pipe to its desired state: starts and stops its replicas, called workers here, restarts dead ones, and
 * writes the pipe's state. The body takes no input; longer work runs beside it, one action per pipe, and pokes the loop
 * when it ends. Only this file writes pipe states.
 */

import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { endRecorded } from "../../../lib/process.ts";
import { TaskTable } from "../../../lib/task-table.ts";
import type { OutgoingPolicy } from "../../../outgoing/policy.ts";
import { errorTableNameOf } from "../../../sources/contract/destination.ts";
import { kindOf } from "../../../sources/contract/registry.ts";
import { allLeases, type Leases } from "../../../store/nodes/leases.ts";
import type { Stores } from "../../../store/open.ts";
import type { PipeReport } from "../../../store/pipes/pipe-reports.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";
import type { Service } from "../../../store/services/services.ts";
import { begunMark, type Job, type OutageLimits, type WorkerStatus } from "../../protocol.ts";
import { fullConfig, jobOf } from "../definition/definition.ts";
import { problemOf, sealedOtherwise } from "../definition/stored-definition.ts";
import { gaugesOfAll, knownGauges } from "../progress/gauges.ts";
import { PipeClaims } from "./claims.ts";
import { outcomeOf } from "./outcome.ts";
import type { Replica, ReplicaDeps, ReplicaParts } from "./replica.ts";
import { hasOutcome, observedOf, pipeAction, presenceOf, type ShownState, shownState, wantedOf } from "./state.ts";

/** The part of a replica that the supervisor uses. */
export type PipeWorker = Pick<
  Replica,
  "status" | "gauges" | "over" | "how" | "fault" | "isLeaving" | "pidFile" | "stop"
>;

/** Deaths in a row after which a pipe no longer shares a process. */
const deathsUntilAlone = 3;

/** The workers of a pipe, started together with the definition of one generation. */
type Run = { readonly generation: number; readonly workers: PipeWorker[] };

export type SupervisorOptions = ReplicaDeps &
  Pick<Stores, "pipes" | "services" | "leftovers" | "cdcScaling"> & {
    /** Contains the pid files of workers in `pipes`. */
    readonly dataDir: string;
    readonly limits: OutageLimits;
    /** Where workers may connect to. */
    readonly policy: OutgoingPolicy;
    readonly startWorker: (parts: ReplicaParts) => PipeWorker;
    readonly tellOwnPorts: (ownPorts: readonly number[]) => void;
    readonly poke: () => void;
    /** The pipes that this process runs; default: all. */
    readonly leases?: Leases;
    /** The clock, in ms: replaced in tests. */
    readonly now?: () => number;
  };

export class PipesSupervisor {
  readonly #options: SupervisorOptions;
  readonly #tasks: TaskTable;
  readonly #runs = new Map<string, Run>();
  /** Pipes that share no process until they are stopped. */
  readonly #alone = new Set<string>();
  readonly #runDir: string;
  readonly #leases: Leases;
  readonly #claims: PipeClaims;
  #toldPorts = "";
  #isBegun = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#runDir = join(options.dataDir, "pipes");
    this.#leases = options.leases ?? allLeases("");
    this.#tasks = new TaskTable({
      poke: options.poke,
      onFailure: (pipeId, err) => {
        if (isLost(err)) options.logger.warn({ pipeId }, "pipe action ended: another process has the pipe");
        else options.logger.error({ err, pipeId }, "pipe action failed");
      },
      now: options.now,
    });
    this.#claims = new PipeClaims({
      ...{ leases: this.#leases, tasks: this.#tasks, logger: options.logger },
      runs: () => this.#runs.keys(),
      forget: (id) => this.#forget(id),
    });
  }

  /** One pass over all pipes that this process has the leases of. */
  async pass(): Promise<void> {
    await this.#begin();
    this.#tellOwnPorts();
    // Only actions and this pass write states: a pipe without an action now, and in its turn, is as it was read.
    const acting = new Set(this.#tasks.acting());
    const pipes = await this.#options.pipes.listAll();
    const services = new Map((await this.#options.services.listAll()).map((service) => [service.id, service]));
    this.#claims.endLost();
    // What is claimed now was read while it belonged to another process: the next pass looks at it.
    const ours = pipes.filter(({ id }) => this.#leases.holds("pipe", id) && !acting.has(id));
    if (await this.#claims.pass(pipes, services)) this.#options.poke();
    for (const pipe of ours) {
      if (!this.#leases.holds("pipe", pipe.id)) continue;
      const looking = this.#look(pipe, services.get(pipe.serviceId));
      // Nearly all of them rest: to wait for each of them takes longer than to look.
      if (looking !== undefined) await looking;
    }
    const known = new Set(pipes.map((pipe) => pipe.id));
    for (const id of this.#runs.keys()) {
      if (!known.has(id) && this.#tasks.isFree(id)) this.#tasks.run(id, () => this.#forget(id));
    }
  }

  /** Stops every worker; states stay as they are, so that the next start, or another process, runs the same pipes. */
  async close(): Promise<void> {
    // Without an answer of the database, the others wait for the end of the leases.
    const left = this.#leases.leave().catch(() => {});
    const acting = new Set(this.#tasks.acting());
    const resting = [...this.#runs.keys()].filter((id) => !acting.has(id));
    const acted = this.#tasks.close();
    // Each pipe continues elsewhere as soon as it has ended here, whatever others are busy with.
    await Promise.all([left, acted, ...resting.map((id) => this.#hand(id))]);
    await Promise.all([...this.#runs.keys()].map((id) => this.#hand(id)));
  }

  /** To another process. */
  async #hand(pipeId: string): Promise<void> {
    await this.#end(pipeId);
    await this.#leases.release("pipe", [pipeId]).catch(() => {});
  }

  /** Pipes that have workers. */
  ids(): Iterable<string> {
    return this.#runs.keys();
  }

  /**
   * The number of the pipe's running workers with their gauges, of which amounts are summed, and of times and ages the
   * largest counts. Undefined without workers.
   */
  reportOf(pipeId: string): PipeReport | undefined {
    const workers = this.#runs.get(pipeId)?.workers;
    if (workers === undefined) return undefined;
    const running = workers.filter(({ over }) => !over).length;
    return { workers: running, gauges: gaugesOfAll(workers.map(knownGauges)) };
  }

  /** Sends running workers the ports of new services. */
  #tellOwnPorts(): void {
    const { ownPorts } = this.#options.policy.rules;
    if (ownPorts.join() === this.#toldPorts) return;
    this.#toldPorts = ownPorts.join();
    this.#options.tellOwnPorts(ownPorts);
  }

  /** Ends workers that outlived an earlier control plane. From now on this process runs pipes. */
  async #begin(): Promise<void> {
    if (this.#isBegun) return;
    mkdirSync(this.#runDir, { recursive: true, mode: 0o700 });
    for (const file of readdirSync(this.#runDir)) await endRecorded(join(this.#runDir, file));
    await this.#leases.join();
    this.#isBegun = true;
  }

  /** Undefined when the pipe's state is as it is written. */
  #look(pipe: Pipe, service: Service | undefined): Promise<void> | undefined {
    const { id } = pipe;
    if (!this.#tasks.isFree(id)) return undefined;
    const run = this.#runs.get(id);
    const action = pipeAction(wantedOf(pipe, service), observedOf(pipe, run), presenceOf(service));
    if (action === "wait") return this.#wait(pipe, service);
    if (action === "watch") return this.#watch(pipe, run);
    if (action === "start" && !this.#tasks.mayStart(id)) return undefined;
    if (action !== "rest") this.#tasks.run(id, () => this.#actions[action](pipe));
    return undefined;
  }

  readonly #actions = {
    start: (pipe: Pipe) => this.#start(pipe),
    end: (pipe: Pipe) => this.#end(pipe.id),
    recover: (pipe: Pipe) => this.#recover(pipe),
    finish: (pipe: Pipe) => this.#finish(pipe),
    stop: (pipe: Pipe) => this.#stop(pipe),
    startOver: (pipe: Pipe) => this.#startOver(pipe),
    remove: (pipe: Pipe) => this.#remove(pipe),
  };

  /** The service is stopped or failed: no workers until it runs again. */
  #wait(pipe: Pipe, service: Service | undefined): Promise<void> | undefined {
    // One that stops is said to be stopped: another text would be another activity.
    const state = service?.desiredState === "stopped" ? "stopped" : (service?.state ?? "deleted");
    const reason = `waiting for the service. Current state: ${state}`;
    return shows(pipe, "Stopped", reason) ? undefined : this.#setState(pipe, "Stopped", reason);
  }

  /** Writes the state that the workers report. */
  #watch(pipe: Pipe, run: Run | undefined): Promise<void> | undefined {
    this.#tasks.runs(pipe.id);
    const { state, reason } = shownState((run?.workers ?? []).map((worker) => worker.status));
    return shows(pipe, state, reason) ? undefined : this.#setState(pipe, state, reason);
  }

  async #start(pipe: Pipe): Promise<void> {
    // A restart after a death keeps state and reason until the worker reports another state.
    if (pipe.state !== "Degraded") await this.#setState(pipe, "Provisioning", null);
    const secrets = await this.#options.pipes.secrets(pipe.id);
    if (secrets === undefined) return await this.#setState(pipe, "Failed", sealedOtherwise(pipe.sourceKind));
    const config = fullConfig(pipe, secrets);
    const problem = problemOf(pipe, config);
    if (problem !== undefined) return await this.#setState(pipe, "Failed", problem);
    const single = kindOf(pipe.sourceKind).targets?.(config) !== undefined;
    const count = single ? 1 : Math.max(1, pipe.scaling.replicas ?? 1);
    const name = randomUUID();
    const { limits, policy } = this.#options;
    const organizationId = (await this.#options.services.find(pipe.serviceId))?.organizationId ?? "";
    if (pipe.resyncTables.length + pipe.resyncObjects.length > 0) {
      await this.#options.pipes.startPartsOver(pipe.id, kindOf(pipe.sourceKind));
    }
    // Before the first worker: what it makes is found again, wherever it is killed.
    await this.#record(pipe, config);
    const scaling = {
      ...pipe.scaling,
      ...(kindOf(pipe.sourceKind).hasCdcScaling ? await this.#options.cdcScaling.find(pipe.serviceId) : {}),
    };
    const run: Run = { generation: pipe.generation, workers: [] };
    this.#runs.set(pipe.id, run);
    try {
      for (let index = 0; index < count; index += 1) {
        const replica = { index, count, run: name };
        const job = jobOf({ ...pipe, scaling }, secrets, {
          task: "load",
          replica,
          fence: this.#leases.fenceOf("pipe", pipe.id),
          limits,
          organizationId,
          outgoing: policy.rules,
        });
        run.workers.push(this.#options.startWorker(this.#partsOf(pipe, job)));
      }
    } catch (error) {
      await this.#end(pipe.id);
      throw error;
    }
    this.#tasks.started(pipe.id);
  }

  #partsOf(pipe: Pipe, job: Job): ReplicaParts {
    const { index } = job.replica;
    return {
      ...this.#options,
      job,
      serviceId: pipe.serviceId,
      pidFile: join(this.#runDir, index === 0 ? `${pipe.id}.pid` : `${pipe.id}.${index}.pid`),
      name: `${pipe.id}-${index}`,
      isAlone: this.#alone.has(pipe.id),
      logger: this.#options.logger.child({ pipeId: pipe.id, pipe: pipe.name }),
      changed: this.#options.poke,
    };
  }

  /** A worker has died: the others end too, and a later pass starts all of them, unless this was the last attempt. */
  async #recover(pipe: Pipe): Promise<void> {
    const dead = this.#runs.get(pipe.id)?.workers.find(({ over, status }) => over && !hasOutcome(status));
    await this.#end(pipe.id);
    const reason = `the worker ended unexpectedly (${dead?.how})`;
    if (dead?.fault === "neighbour") return await this.#setState(pipe, "Degraded", reason);
    const death = this.#tasks.died(pipe.id, reason);
    if (death.count >= deathsUntilAlone) this.#alone.add(pipe.id);
    const isAlone = this.#alone.has(pipe.id);
    const facts = { pipeId: pipe.id, pipe: pipe.name, deaths: death.count, isAlone, reason };
    this.#options.logger.warn(facts, "pipe worker died");
    await this.#setState(pipe, death.gaveUp ? "InternalError" : "Degraded", death.message);
  }

  async #finish(pipe: Pipe): Promise<void> {
    const statuses = (this.#runs.get(pipe.id)?.workers ?? []).map((worker) => worker.status);
    const shown = shownState(statuses);
    const { state, reason } = shown.state === "Completed" ? await this.#outcome(pipe, statuses) : shown;
    await this.#setState(pipe, state, reason);
    await this.#end(pipe.id);
  }

  async #outcome(pipe: Pipe, statuses: readonly WorkerStatus[]): Promise<ShownState> {
    const { table } = pipe.destination;
    const refusals = statuses.map((status) => (status.phase === "completed" ? status.refusal : undefined));
    return outcomeOf({
      counters: await this.#options.pipes.counters(pipe.id),
      errorTable: table === undefined ? undefined : errorTableNameOf(table),
      readsObjects: kindOf(pipe.sourceKind).listing.of === "objects",
      refusal: refusals.find((refusal) => refusal !== undefined),
    });
  }

  async #stop(pipe: Pipe): Promise<void> {
    if (this.#runs.has(pipe.id)) await this.#setState(pipe, "Stopping", null);
    await this.#end(pipe.id);
    this.#forgive(pipe.id);
    await this.#setState(pipe, "Stopped", null);
  }

  async #startOver(pipe: Pipe): Promise<void> {
    await this.#setState(pipe, "Resync", null);
    await this.#end(pipe.id);
    this.#forgive(pipe.id);
    await this.#options.pipes.startOver(pipe.id, begunMark);
  }

  async #remove(pipe: Pipe): Promise<void> {
    if (this.#runs.has(pipe.id)) await this.#setState(pipe, "Stopping", null);
    await this.#end(pipe.id);
    await this.#recordForRemoval(pipe);
    // From here on what is on record is left over, and the remover's.
    await this.#options.pipes.remove(pipe.id);
    await this.#options.inboxes.remove(pipe.id);
    this.#forgive(pipe.id);
  }

  #forgive(pipeId: string): void {
    this.#tasks.forgive(pipeId);
    this.#alone.delete(pipeId);
  }

  async #record(pipe: Pipe, config: JsonObject, isOpened = true): Promise<void> {
    const objects = kindOf(pipe.sourceKind).made?.(config, pipe.id) ?? [];
    await this.#options.leftovers.record(pipe, objects, isOpened ? config : undefined);
  }

  /** Records the present configuration, which may have changed since. A pipe that never began made nothing. */
  async #recordForRemoval(pipe: Pipe): Promise<void> {
    const { pipes, ledger, leftovers } = this.#options;
    const isBegun =
      begunMark in (await ledger.marks(pipe.id, [begunMark])) || (await leftovers.ofPipe(pipe.id)).length > 0;
    if (!isBegun) return;
    const secrets = await pipes.secrets(pipe.id);
    await this.#record(pipe, fullConfig(pipe, secrets ?? {}), secrets !== undefined);
  }

  /** Forgets a pipe whose row is deleted. */
  async #forget(pipeId: string): Promise<void> {
    await this.#end(pipeId);
    this.#forgive(pipeId);
  }

  async #end(pipeId: string): Promise<void> {
    const workers = this.#runs.get(pipeId)?.workers ?? [];
    await Promise.all(workers.map((worker) => worker.stop()));
    for (const worker of workers) rmSync(worker.pidFile, { force: true });
    this.#runs.delete(pipeId);
  }

  async #setState(pipe: Pipe, state: Pipe["state"], reason: string | null): Promise<void> {
    const now = await this.#options.pipes.find(pipe.id);
    if (now === undefined || shows(now, state, reason, pipe.generation)) return;
    await this.#options.pipes.setState(pipe.id, state, reason, pipe.generation);
    this.#options.logger.info(
      { pipeId: pipe.id, pipe: pipe.name, state, ...(reason === null ? {} : { reason }) },
      "pipe state",
    );
  }
}

function isLost(error: unknown): boolean {
  return error instanceof AppError && error.code === "LEASE_LOST";
}

/** True when this state of the generation is written. */
function shows(pipe: Pipe, state: Pipe["state"], reason: string | null, generation = pipe.generation): boolean {
  return pipe.state === state && pipe.lastError === reason && pipe.observedGeneration === generation;
}
