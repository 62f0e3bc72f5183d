/**
 * Brings every service to its desired state. The body takes no input and never waits for an engine: longer work runs
 * beside it, one action per service, and pokes the loop when it ends. Only this file writes service states.
 */
import { traitsOf } from "../api/runtimes.ts";
import type { ServiceState } from "../api/services.ts";
import { AppError, describeError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { TaskTable } from "../lib/task-table.ts";
import { allLeases, type Leases } from "../store/nodes/leases.ts";
import type { Service, ServiceStore } from "../store/services/services.ts";
import type { ServiceAccess } from "./access.ts";
import { diskLimitBytes } from "./disks.ts";
import type { RunningEngine, ServiceRuntime } from "./runtime.ts";
import { serviceAction, startingState } from "./state.ts";
import { type Transition, Transitions, unwatched } from "./transitions.ts";
import { lastUseElsewhere, tellOfUse } from "./use-elsewhere.ts";

/** An engine without queries for this long may be restarted. */
const quietMs = 10_000;

/** How long statements may go on when the rights of users have changed. */
const reloadGraceMs = 10_000;

export type ReconcilerOptions = {
  readonly services: ServiceStore;
  readonly runtime: ServiceRuntime;
  readonly access: ServiceAccess;
  readonly logger: Logger;
  readonly idleMinuteMs: number;
  readonly poke: () => void;
  /** True while an engine does background work (merges), which delays idling. */
  readonly isBusy: (engine: RunningEngine) => Promise<boolean>;
  /** Awaited before an engine is stopped, except for a restart after a moment without queries. Never rejects. */
  readonly beforeStop: (serviceId: string, engine: RunningEngine) => Promise<void>;
  /** The services whose states this process writes; default: all. */
  readonly leases?: Leases;
  /** False for a process that only connects to the servers of external services (default true). */
  readonly claims?: boolean;
};

/** An external service has one while another process reaches its server, or tries to. */
const reachable: ReadonlySet<ServiceState> = new Set<ServiceState>(["starting", "awaking", "running", "degraded"]);

export class ServicesReconciler {
  readonly #options: ReconcilerOptions;
  readonly #tasks: TaskTable;
  readonly #engines = new Map<string, RunningEngine>();
  readonly #leases: Leases;
  readonly #transitions = new Transitions();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#leases = options.leases ?? allLeases("");
    this.#leases.onLost(() => this.#transitions.keepOnly((id) => this.#leases.holds("service", id)));
    this.#tasks = new TaskTable({
      poke: options.poke,
      onFailure: (serviceId, err) => options.logger.error({ err, serviceId }, "service action failed"),
    });
  }

  /** One pass over all services: those that this process has the leases of, and the servers that it connects to. */
  async pass(): Promise<void> {
    const rows = await this.#options.services.listAll();
    if (this.#options.claims !== false) await this.#claim(rows);
    for (const row of rows) {
      if (this.#leases.holds("service", row.id)) await this.#look(row.id);
      else await this.#follow(row);
    }
    const known = new Set(rows.map(({ id }) => id));
    for (const id of this.#engines.keys()) {
      if (!known.has(id) && this.#tasks.isFree(id)) this.#tasks.run(id, () => this.#part(id));
    }
  }

  async #claim(rows: readonly Service[]): Promise<void> {
    const wanted = rows.filter(({ id, nodeId }) => {
      return !this.#leases.holds("service", id) && !this.#leases.isElsewhere(nodeId) && this.#tasks.isFree(id);
    });
    const ids = wanted.map(({ id }) => id);
    const free = await this.#leases.free("service", ids);
    if (free.length > 0) await this.#leases.claim("service", free);
  }

  /** Another process writes the state. Its server can be reached from here, too; an engine cannot. */
  async #follow(row: Service): Promise<void> {
    const { id } = row;
    if (traitsOf(row).isOwnProcess || !this.#tasks.isFree(id)) return;
    const engine = this.#engines.get(id);
    if (row.desiredState !== "running" || !reachable.has(row.state)) {
      if (engine !== undefined) this.#tasks.run(id, () => this.#part(id));
    } else if (engine === undefined) {
      if (this.#tasks.mayStart(id) && hasServer(row)) this.#tasks.run(id, () => this.#connect(row));
    } else {
      this.#tasks.runs(id);
      await tellOfUse(row, this.#options);
      if (await engine.isCurrent(row)) return;
      this.#tasks.run(id, async () => {
        await this.#part(id);
        await this.#connect(row);
      });
    }
  }

  async #connect(row: Service): Promise<void> {
    try {
      const { runtime } = this.#options;
      const engine = await (runtime.connect?.(row) ?? runtime.start(row, unwatched));
      this.#engines.set(row.id, engine);
      this.#tasks.started(row.id);
      engine.ended.then((how) => this.#ended(row, engine, how));
      this.#options.access.publish(row.id, engine);
    } catch (error) {
      await this.#died(row, reasonOf(error));
    }
  }

  async #part(serviceId: string): Promise<void> {
    await this.#withdrawAndEnd(serviceId);
    this.#tasks.forgive(serviceId);
    this.#options.access.notify();
  }

  /** Stops every engine; states stay as they are, so that the next start runs the same services. */
  async close(): Promise<void> {
    this.#transitions.close();
    await this.#tasks.close();
    await Promise.all(
      [...this.#engines].map(async ([id, engine]) => {
        this.#options.access.withdraw(id);
        await engine.stop();
      }),
    );
  }

  async #look(id: string): Promise<void> {
    if (this.#transitions.has(id)) return await this.#review(id);
    if (!this.#tasks.isFree(id)) return;
    // Read after checking that no action runs: only actions write states, so this row is current.
    const row = await this.#options.services.find(id);
    if (row === undefined || !this.#tasks.isFree(id)) return;
    const engine = this.#engines.get(id);
    const action = serviceAction(row.desiredState, row.state);
    if (action === "watch" && engine !== undefined && row.state !== "running") {
      // Connected while another process wrote the state.
      return this.#tasks.run(id, () => this.#setState(row, "running", null));
    }
    if (action === "remove") await this.#lookToRemove(row);
    else if (action === "stop") this.#lookToStop(row, engine);
    else if (engine !== undefined) await this.#lookAtLive(row, engine);
    else if ((action === "watch" || row.wakeRequested) && this.#tasks.mayStart(id)) {
      this.#tasks.run(id, () => this.#start(row));
    }
  }

  /** A service may be stopped while it starts, and be woken while it stops. */
  async #review(id: string): Promise<void> {
    const row = await this.#options.services.find(id);
    if (row !== undefined) this.#transitions.review(row);
  }

  /** Its pipes go first: they know what they have made at their sources. */
  async #lookToRemove(row: Service): Promise<void> {
    if (!(await this.#options.services.hasPipes(row.id))) this.#tasks.run(row.id, () => this.#remove(row));
    else if (row.state !== "terminating") this.#tasks.run(row.id, () => this.#setState(row, "terminating", null));
  }

  #lookToStop(row: Service, engine: RunningEngine | undefined): void {
    this.#tasks.forgive(row.id);
    if (engine !== undefined) this.#tasks.run(row.id, () => this.#stop(row, engine));
    else if (row.state !== "stopped") this.#tasks.run(row.id, () => this.#becomeStopped(row));
  }

  async #lookAtLive(row: Service, engine: RunningEngine): Promise<void> {
    this.#tasks.runs(row.id);
    engine.limitDisk(diskLimitBytes(row));
    if (row.idleScaling && this.#idleDue(row)) {
      this.#tasks.run(row.id, () => this.#idle(row, engine));
    } else if (await this.#options.access.mustReload(row.id, engine)) {
      this.#tasks.run(row.id, () => this.#reload(row, engine));
    } else if (!traitsOf(row).isOwnProcess) {
      if (!(await engine.isCurrent(row))) this.#tasks.run(row.id, () => this.#reconnect(row, engine));
    } else if (this.#unusedFor(row, quietMs) && !(await engine.isCurrent(row))) {
      this.#tasks.run(row.id, () => this.#renew(row, engine));
    }
  }

  #unusedFor(row: Service, ms: number): boolean {
    const own = this.#options.access.lastActivityAt(row.id);
    if (own === undefined || this.#options.access.isActive(row.id)) return false;
    return Date.now() - Math.max(own, lastUseElsewhere(row)) >= ms;
  }

  #idleDue(row: Service): boolean {
    return this.#unusedFor(row, this.#idleAfterMs(row));
  }

  #idleAfterMs(row: Service): number {
    return row.idleTimeoutMinutes * this.#options.idleMinuteMs;
  }

  /** Resolves with false if the service is to do something else before it runs. */
  async #start(row: Service): Promise<boolean> {
    const shown = startingState(row.state);
    await this.#setState(row, shown, row.state === "degraded" ? row.stateMessage : null);
    const { version } = row;
    const isWanted = (now: Service) => now.desiredState === "running" && now.version === version;
    return await this.#inTransition(row, { shown, isWanted }, (transition) => this.#tryStart(row, transition));
  }

  async #tryStart(row: Service, transition: Transition): Promise<void> {
    try {
      const engine = await this.#options.runtime.start(row, transition);
      this.#engines.set(row.id, engine);
      this.#tasks.started(row.id);
      const { version: databaseVersion, managedConnection } = engine;
      await this.#options.services.setEngineFacts(row.id, { databaseVersion, managedConnection });
      await this.#setState(row, "running", engine.note ?? null);
      engine.ended.then((how) => this.#ended(row, engine, how));
      this.#options.access.publish(row.id, engine);
    } catch (error) {
      // It may have been started and not published.
      if (error instanceof AppError && error.code === "LEASE_LOST") await this.#withdrawAndEnd(row.id);
      else if (transition.signal.aborted) throw error;
      else if (isFinal(error)) await this.#failed(row, describeError(error));
      else if (!traitsOf(row).isOwnProcess) await this.#died(row, reasonOf(error));
      else await this.#died(row, `the engine did not start: ${describeError(error)}`);
    }
  }

  async #stop(row: Service, engine: RunningEngine): Promise<void> {
    await this.#setState(row, "stopping", null);
    await this.#options.beforeStop(row.id, engine);
    await this.#withdrawAndEnd(row.id);
    await this.#becomeStopped(row);
  }

  async #becomeStopped(row: Service): Promise<void> {
    if (await this.#halt(row, (now) => now.desiredState === "stopped")) {
      await this.#setState(row, "stopped", stoppedNote(row));
    }
  }

  /** Resolves with false if the service is to do something else before it has ended. */
  async #halt(row: Service, isWanted: (now: Service) => boolean): Promise<boolean> {
    const halt = (transition: Transition) => this.#options.runtime.halt?.(row, transition);
    return await this.#inTransition(row, { shown: "stopping", isWanted }, async (transition) => halt(transition));
  }

  /** `shown`: the state beside which the transition's sentences are shown. */
  async #inTransition(
    row: Service,
    { shown, isWanted }: { shown: ServiceState; isWanted: (now: Service) => boolean },
    work: (transition: Transition) => Promise<void>,
  ): Promise<boolean> {
    const report = (sentence: string) => this.#setState(row, shown, sentence);
    return await this.#transitions.run(row.id, { report, isWanted }, work);
  }

  async #idle(row: Service, engine: RunningEngine): Promise<void> {
    if (await this.#options.isBusy(engine)) return;
    await this.#options.beforeStop(row.id, engine);
    if (!this.#idleDue(row) || !(await this.#options.access.withdrawUnused(row.id, this.#idleAfterMs(row)))) return;
    if (this.#hasDied(row.id, engine)) return;
    await this.#end(row.id, engine);
    this.#tasks.forgive(row.id);
    const isWanted = (now: Service) => now.desiredState === "running" && !now.wakeRequested;
    if (!(await this.#halt(row, isWanted))) return;
    await this.#setState(row, "idle", null);
    await this.#standBy(row);
  }

  /** Without it, the service only wakes more slowly. */
  async #standBy(row: Service): Promise<void> {
    try {
      await this.#options.runtime.standBy?.(row);
    } catch (err) {
      this.#options.logger.warn({ err, serviceId: row.id }, "the next start could not be prepared");
    }
  }

  /**
   * The engine reads users and memory at start. A moment without queries is enough for a restart that no client
   * notices.
   */
  async #renew(row: Service, engine: RunningEngine): Promise<void> {
    if (!(await this.#options.access.withdrawUnused(row.id, quietMs))) return;
    if (this.#hasDied(row.id, engine)) return;
    await this.#end(row.id, engine);
    await this.#start(row);
  }

  /** The rights of users hold for every later statement: those that arrive meanwhile wait for the new engine. */
  async #reload(row: Service, engine: RunningEngine): Promise<void> {
    const drained = engine.handoff?.drain({ graceMs: reloadGraceMs }).catch(() => {});
    this.#options.access.withdraw(row.id);
    await Promise.all([drained, this.#options.access.released(row.id, reloadGraceMs)]);
    await this.#options.beforeStop(row.id, engine);
    if (this.#hasDied(row.id, engine)) return;
    await this.#end(row.id, engine);
    await this.#start(row);
  }

  /**
   * Nothing ends with the connection: queries under way may finish on the old one. That of a cluster serves until there
   * is another one, because the API server that the start needs may be away.
   */
  async #reconnect(row: Service, engine: RunningEngine): Promise<void> {
    if (!traitsOf(row).isInCluster) await this.#withdrawAndEnd(row.id);
    const isDecided = await this.#start(row);
    if (!traitsOf(row).isInCluster) return;
    if (this.#engines.get(row.id) !== engine) await engine.stop();
    else if (isDecided) await this.#withdrawAndEnd(row.id);
  }

  async #remove(row: Service): Promise<void> {
    await this.#setState(row, "terminating", null);
    await this.#withdrawAndEnd(row.id);
    const removal = { shown: "terminating", isWanted: () => true } as const;
    const work = (transition: Transition) => this.#options.runtime.remove(row, transition);
    if (!(await this.#inTransition(row, removal, work))) return;
    await this.#options.services.remove(row.id);
    this.#options.access.forget(row.id);
    this.#tasks.forgive(row.id);
  }

  async #withdrawAndEnd(serviceId: string): Promise<void> {
    this.#options.access.withdraw(serviceId);
    const engine = this.#engines.get(serviceId);
    if (engine !== undefined) await this.#end(serviceId, engine);
  }

  /** Stops the process. From now on its end is expected. */
  async #end(serviceId: string, engine: RunningEngine): Promise<void> {
    this.#engines.delete(serviceId);
    await engine.stop();
  }

  /** The engine's process has ended. Expected when we stopped it: then it is no longer the service's engine. */
  #ended(row: Service, engine: RunningEngine, how: string): void {
    if (this.#engines.get(row.id) !== engine) return;
    this.#engines.delete(row.id);
    this.#options.access.withdraw(row.id);
    const reason = traitsOf(row).isOwnProcess ? `the engine ended unexpectedly: ${how}` : how;
    // A statement can end an engine that works: whoever sends it again and again must not end the service.
    this.#tasks.run(row.id, async () => {
      // Another one may have been connected meanwhile.
      if (!this.#engines.has(row.id)) await this.#died(row, reason, { endless: true });
    });
  }

  /** True when the engine has died during the calling action: the next action records it. */
  #hasDied(serviceId: string, engine: RunningEngine): boolean {
    return this.#engines.get(serviceId) !== engine;
  }

  async #died(row: Service, reason: string, { endless = !traitsOf(row).isOwnProcess } = {}): Promise<void> {
    const death = this.#tasks.died(row.id, reason, { endless });
    this.#options.logger.warn({ serviceId: row.id, service: row.name, deaths: death.count, reason }, "engine died");
    if (!this.#leases.holds("service", row.id)) return;
    await this.#setState(row, death.gaveUp ? "failed" : "degraded", death.message);
  }

  /** Gives up without further attempts. */
  async #failed(row: Service, reason: string): Promise<void> {
    this.#tasks.forgive(row.id);
    this.#options.logger.warn({ serviceId: row.id, service: row.name, reason }, "service cannot start");
    await this.#setState(row, "failed", reason);
  }

  async #setState(row: Service, state: ServiceState, message: string | null): Promise<void> {
    await this.#options.services.setState(row.id, state, message);
    this.#options.logger.info(
      { serviceId: row.id, service: row.name, state, ...(message === null ? {} : { message }) },
      "service state",
    );
    this.#options.access.notify();
  }
}

/** Pods are there when the process that starts them says so; an external server has nothing to do with its state. */
function hasServer(service: Service): boolean {
  return traitsOf(service).outlivesStop || service.state === "running" || service.state === "degraded";
}

/** Another attempt would read the same damaged backup. */
function isFinal(error: unknown): boolean {
  return error instanceof AppError && error.code === "BACKUP_UNUSABLE";
}

/** The reason is a sentence for users where the server is not a process of ours. */
function reasonOf(error: unknown): string {
  return error instanceof AppError ? error.message : describeError(error);
}

function stoppedNote(service: Service): string | null {
  if (!traitsOf(service).outlivesStop) return null;
  return "Pipes wait and the endpoint of Millrace is closed; the ClickHouse server itself is not ours and goes on.";
}
