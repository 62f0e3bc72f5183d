/**
 * Makes every service what is asked for. The body takes no input and never waits for an engine: what takes time runs
 * beside it, one action per service, and pokes the loop when it is over. Only this file writes service states.
 */
import type { ServiceState } from "../api/services.ts";
import { Backoff } from "../lib/backoff.ts";
import { describeError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Service, ServiceStore } from "../store/services.ts";
import type { ServiceAccess } from "./access.ts";
import { diskLimitBytes } from "./disks.ts";
import type { RunningEngine, ServiceRuntime } from "./runtime.ts";
import { serviceAction, startingState } from "./state.ts";

/** After this many deaths without a stable run in between, a service is `failed` and waits for `start`. */
const maxDeaths = 6;
const stableRunMs = 60_000;
/** An engine without queries for this long may be started anew. */
const quietMs = 10_000;

type Tracked = {
  engine: RunningEngine | undefined;
  action: Promise<void> | undefined;
  deaths: number;
  startedAt: number;
  /** No start before this time: the pause after repeated deaths. */
  notBefore: number;
  /** No action at all before this time: the pause after an action of ours failed. */
  retryAt: number;
  readonly backoff: Backoff;
};

export type ReconcilerOptions = {
  readonly services: ServiceStore;
  readonly runtime: ServiceRuntime;
  readonly access: ServiceAccess;
  readonly logger: Logger;
  readonly idleMinuteMs: number;
  readonly poke: () => void;
  /** True while an engine is busy with its own work (merges), which delays idling. */
  readonly isBusy: (engine: RunningEngine) => Promise<boolean>;
};

export class ServicesReconciler {
  readonly #options: ReconcilerOptions;
  readonly #tracked = new Map<string, Tracked>();
  #closing = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** One pass over all services. */
  async pass(): Promise<void> {
    for (const { id } of await this.#options.services.listAll()) await this.#look(id);
  }

  /** Ends every engine; states stay as they are, so that the next start brings the same services back. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all(
      [...this.#tracked.entries()].map(async ([id, tracked]) => {
        await tracked.action;
        this.#options.access.withdraw(id);
        await tracked.engine?.stop();
      }),
    );
  }

  async #look(id: string): Promise<void> {
    const tracked = this.#trackedFor(id);
    if (tracked.action !== undefined) return;
    // Read after knowing that no action runs: only actions write states, so this row is not a stale one.
    const row = await this.#options.services.find(id);
    if (row === undefined || tracked.action !== undefined || this.#closing || Date.now() < tracked.retryAt) return;
    const action = serviceAction(row.desiredState, row.state);
    if (action === "remove") this.#act(tracked, id, () => this.#remove(row, tracked));
    else if (action === "stop") this.#lookToStop(row, tracked);
    else if (tracked.engine !== undefined) await this.#lookAtLive(row, tracked, tracked.engine);
    else if (action === "watch" || row.wakeRequested) {
      if (action === "rest") this.#forgive(tracked);
      if (Date.now() >= tracked.notBefore) this.#act(tracked, id, () => this.#start(row, tracked));
    }
  }

  #lookToStop(row: Service, tracked: Tracked): void {
    this.#forgive(tracked);
    const { engine } = tracked;
    if (engine !== undefined) this.#act(tracked, row.id, () => this.#stop(row, tracked, engine));
    else if (row.state !== "stopped") this.#act(tracked, row.id, () => this.#setState(row, "stopped", null));
  }

  async #lookAtLive(row: Service, tracked: Tracked, engine: RunningEngine): Promise<void> {
    if (tracked.deaths > 0 && Date.now() - tracked.startedAt > stableRunMs) this.#forgive(tracked);
    engine.limitDisk(diskLimitBytes(row));
    if (row.idleScaling && this.#idleDue(row)) {
      this.#act(tracked, row.id, () => this.#idle(row, tracked, engine));
    } else if (this.#unusedFor(row, quietMs) && !(await engine.knowsUsers())) {
      this.#act(tracked, row.id, () => this.#renewUsers(row, tracked, engine));
    }
  }

  #unusedFor(row: Service, ms: number): boolean {
    const last = this.#options.access.lastActivityAt(row.id);
    return last !== undefined && !this.#options.access.isActive(row.id) && Date.now() - last >= ms;
  }

  #idleDue(row: Service): boolean {
    return this.#unusedFor(row, this.#idleAfterMs(row));
  }

  #idleAfterMs(row: Service): number {
    return row.idleTimeoutMinutes * this.#options.idleMinuteMs;
  }

  async #start(row: Service, tracked: Tracked): Promise<void> {
    await this.#setState(row, startingState(row.state), row.state === "degraded" ? row.stateMessage : null);
    try {
      const engine = await this.#options.runtime.start(row);
      tracked.engine = engine;
      tracked.startedAt = Date.now();
      await this.#options.services.setEngineFacts(row.id, { databaseVersion: engine.version });
      await this.#setState(row, "running", null);
      engine.ended.then((how) => this.#ended(row, tracked, engine, how));
      this.#options.access.publish(row.id, engine);
    } catch (error) {
      await this.#died(row, tracked, `the engine did not start: ${describeError(error)}`);
    }
  }

  async #stop(row: Service, tracked: Tracked, engine: RunningEngine): Promise<void> {
    await this.#setState(row, "stopping", null);
    this.#options.access.withdraw(row.id);
    tracked.engine = undefined;
    await engine.stop();
    await this.#setState(row, "stopped", null);
  }

  async #idle(row: Service, tracked: Tracked, engine: RunningEngine): Promise<void> {
    if (await this.#options.isBusy(engine)) return;
    if (!this.#idleDue(row) || !(await this.#options.access.withdrawUnused(row.id, this.#idleAfterMs(row)))) return;
    tracked.engine = undefined;
    await engine.stop();
    await this.#setState(row, "idle", null);
  }

  /** The engine reads its users when it starts. A moment without queries is enough for a new start, which nobody notices. */
  async #renewUsers(row: Service, tracked: Tracked, engine: RunningEngine): Promise<void> {
    if (!(await this.#options.access.withdrawUnused(row.id, quietMs))) return;
    tracked.engine = undefined;
    await engine.stop();
    await this.#start(row, tracked);
  }

  async #remove(row: Service, tracked: Tracked): Promise<void> {
    await this.#setState(row, "terminating", null);
    this.#options.access.withdraw(row.id);
    await tracked.engine?.stop();
    tracked.engine = undefined;
    await this.#options.runtime.remove(row.id);
    await this.#options.services.remove(row.id);
    this.#options.access.forget(row.id);
    this.#tracked.delete(row.id);
  }

  /** The engine's process is gone. Expected when we ended it ourselves: then it is not the tracked one any more. */
  #ended(row: Service, tracked: Tracked, engine: RunningEngine, how: string): void {
    if (tracked.engine !== engine || this.#closing) return;
    tracked.engine = undefined;
    this.#options.access.withdraw(row.id);
    this.#act(tracked, row.id, () => this.#died(row, tracked, `the engine ended unexpectedly: ${how}`));
  }

  async #died(row: Service, tracked: Tracked, reason: string): Promise<void> {
    tracked.deaths += 1;
    const failed = tracked.deaths >= maxDeaths;
    // The first death is followed by a start at once; only repeated ones wait.
    tracked.notBefore = tracked.deaths === 1 ? 0 : Date.now() + tracked.backoff.next();
    this.#options.logger.warn({ serviceId: row.id, deaths: tracked.deaths, reason }, "engine died");
    const message = failed ? `gave up after ${tracked.deaths} attempts; ${reason}` : reason;
    await this.#setState(row, failed ? "failed" : "degraded", message);
  }

  #forgive(tracked: Tracked): void {
    tracked.deaths = 0;
    tracked.notBefore = 0;
    tracked.backoff.reset();
  }

  /** Runs an action beside the loop, after the one in hand; nothing else is done with the service meanwhile. */
  #act(tracked: Tracked, serviceId: string, action: () => Promise<void>): void {
    const mine: Promise<void> = (tracked.action ?? Promise.resolve())
      .then(action)
      .catch((error) => {
        // Tried again by a later pass; the pause keeps a lasting failure from becoming a hot loop.
        tracked.retryAt = Date.now() + tracked.backoff.next();
        this.#options.logger.error({ err: error, serviceId }, "service action failed");
      })
      .finally(() => {
        if (tracked.action === mine) tracked.action = undefined;
        this.#options.poke();
      });
    tracked.action = mine;
  }

  async #setState(row: Service, state: ServiceState, message: string | null): Promise<void> {
    await this.#options.services.setState(row.id, state, message);
    this.#options.logger.info({ serviceId: row.id, state, ...(message === null ? {} : { message }) }, "service state");
    this.#options.access.notify();
  }

  #trackedFor(id: string): Tracked {
    let tracked = this.#tracked.get(id);
    if (tracked === undefined) {
      const backoff = new Backoff({ baseMs: 500, capMs: 30_000 });
      tracked = { engine: undefined, action: undefined, deaths: 0, startedAt: 0, notBefore: 0, retryAt: 0, backoff };
      this.#tracked.set(id, tracked);
    }
    return tracked;
  }
}
