/**
 * Access to running engines: callers that query a service acquire its engine, which wakes an idle one and counts as
 * activity until released. The reconciler publishes the live engines here.
 */

import { setTimeout as delay } from "node:timers/promises";
import { traitsOf } from "../api/runtimes.ts";
import { ClickHouseException, clickHouseException } from "../clickhouse/exception.ts";
import type { EngineLease } from "../clickhouse/lease.ts";
import type { AccessEvents } from "../endpoint/auth/events.ts";
import { notAhead } from "../endpoint/handoff/not-ahead.ts";
import type { HandoffSender } from "../endpoint/handoff/sender.ts";
import { AppError } from "../lib/errors.ts";
import type { ServiceStore } from "../store/services/services.ts";
import { type NodeFinder, requireHere } from "./elsewhere.ts";
import type { RunningEngine } from "./runtime.ts";

export type ServiceLease = EngineLease<Pick<RunningEngine, "address" | "readerAddress" | "forwardAddress">>;

type ChangeAccess = (serviceId: string, engine: RunningEngine, received: unknown) => Promise<void>;

type Activity = { active: number; lastAt: number };

const wakeTimeoutMs = 60_000;
/** Pods are placed, volumes attached and images pulled. */
const podsWakeTimeoutMs = 300_000;
const releasePollMs = 50;
/** Time for a request to arrive completely when an engine has read its first bytes before going idle. */
const idleGraceMs = 1_000;

export class ServiceAccess {
  readonly #services: ServiceStore;
  readonly #nodes: NodeFinder | undefined;
  readonly #engines = new Map<string, RunningEngine>();
  readonly #activity = new Map<string, Activity>();
  readonly #waiting = new Set<() => void>();
  #poke: () => void = () => {};
  #tell: (serviceId: string, events: AccessEvents) => void = () => {};
  #changeAccess: ChangeAccess | undefined;
  /** Services whose engine may not know the stored rights of users. */
  readonly #outdated = new Set<string>();

  /** Without `nodes`, all engines belong to this process. */
  constructor(services: ServiceStore, nodes?: NodeFinder) {
    this.#services = services;
    this.#nodes = nodes;
  }

  /** Connects the reconciler, which is constructed later. */
  onWakeWanted(poke: () => void): void {
    this.#poke = poke;
  }

  /** Sets the receiver of logins and refusals of running engines. */
  onAccessEvents(tell: (serviceId: string, events: AccessEvents) => void): void {
    this.#tell = tell;
  }

  /** Sets what applies statements about users, roles and grants. */
  onAccessChanges(change: ChangeAccess): void {
    this.#changeAccess = change;
  }

  /** Marks the rights of the service's users as changed, until the reconciler finds that the engine knows them. */
  rightsChanged(serviceId: string): void {
    this.#outdated.add(serviceId);
  }

  mayBeOutdated(serviceId: string): boolean {
    return this.#outdated.has(serviceId);
  }

  /** True when the engine does not know the stored rights of users. */
  async mustReload(serviceId: string, engine: RunningEngine): Promise<boolean> {
    if (!this.#outdated.has(serviceId)) return false;
    if ((await engine.knowsRights?.(serviceId)) === false) return true;
    this.#outdated.delete(serviceId);
    return false;
  }

  /** Resolves when the engine is no longer in service. Rejects with a ClickHouseException after `timeoutMs`. */
  async withdrawn(serviceId: string, engine: RunningEngine, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    const never = new AbortController().signal;
    while (this.#engines.get(serviceId) === engine) {
      const changed = this.#nextChange(never, deadline - performance.now());
      try {
        if (this.#engines.get(serviceId) === engine) await changed.happened;
      } finally {
        changed.cancel();
      }
      if (performance.now() >= deadline) {
        const text = "The statement is stored, and takes effect when the engine has been restarted.";
        throw clickHouseException("TIMEOUT_EXCEEDED", text);
      }
    }
  }

  /** Resolves when nobody of this process uses the service, or after `timeoutMs`. */
  async released(serviceId: string, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while ((this.#activity.get(serviceId)?.active ?? 0) > 0 && performance.now() < deadline) await delay(releasePollMs);
  }

  /** Called by the reconciler when an engine answers. */
  publish(serviceId: string, engine: RunningEngine): void {
    this.#engines.set(serviceId, engine);
    const { handoff } = engine;
    if (handoff !== undefined) {
      handoff.onEvents = (events) => this.#tell(serviceId, events);
      const change = this.#changeAccess;
      if (change !== undefined) handoff.onAccess = (received) => change(serviceId, engine, received);
    }
    this.#activityOf(serviceId).lastAt = Date.now();
    this.notify();
  }

  /** Takes an engine out of service before it is stopped. */
  withdraw(serviceId: string): void {
    const last = this.lastActivityAt(serviceId);
    this.#engines.delete(serviceId);
    if (last !== undefined) this.#activityOf(serviceId).lastAt = last;
    this.notify();
  }

  /**
   * Takes an engine out of service if no query has run for that time. Returns false, and leaves it in service, when a
   * query has run, or arrived on a handed-over connection while the engine released them: no query is lost.
   */
  async withdrawUnused(serviceId: string, unusedForMs: number): Promise<boolean> {
    const engine = this.#engines.get(serviceId);
    if (engine === undefined || this.isActive(serviceId)) return false;
    // From here on no new connection reaches it.
    this.withdraw(serviceId);
    const unused = (await engine.handoff?.drain({ graceMs: idleGraceMs, unusedForMs }).catch(() => false)) ?? true;
    if (!unused && engine.handoff?.alive === true) {
      this.#engines.set(serviceId, engine);
      this.notify();
    }
    return unused;
  }

  /** The running engines, by service. */
  engines(): ReadonlyMap<string, RunningEngine> {
    return this.#engines;
  }

  /** The receiver of a running service's connections; never wakes it. */
  handoff(serviceId: string): HandoffSender | undefined {
    const handoff = this.#engines.get(serviceId)?.handoff;
    return handoff?.open === true ? handoff : undefined;
  }

  /** Makes waiting callers check again after a state change. */
  notify(): void {
    for (const wake of this.#waiting) wake();
  }

  lastActivityAt(serviceId: string): number | undefined {
    const own = this.#activity.get(serviceId);
    if (own === undefined) return undefined;
    own.lastAt = notAhead(own.lastAt);
    return Math.max(own.lastAt, this.#engines.get(serviceId)?.handoff?.activity.lastAt ?? 0);
  }

  isActive(serviceId: string): boolean {
    const handedOver = this.#engines.get(serviceId)?.handoff?.activity.running ?? 0;
    return handedOver + (this.#activity.get(serviceId)?.active ?? 0) > 0;
  }

  forget(serviceId: string): void {
    this.#engines.delete(serviceId);
    this.#activity.delete(serviceId);
    this.notify();
  }

  /**
   * The running engine. Wakes an idle service and waits for one that is starting. Throws SERVICE_UNAVAILABLE when the
   * service is stopped or failed, or its engine belongs to another process, TIMEOUT when it does not become ready, or
   * the signal's reason.
   */
  async acquire(serviceId: string, signal: AbortSignal): Promise<ServiceLease> {
    const engine = this.#engines.get(serviceId) ?? (await this.#waitForEngine(serviceId, signal));
    return this.#lend(serviceId, engine, true);
  }

  /** The error of a query whose engine went away. It says so when somebody has stopped or deleted the service. */
  async explained(serviceId: string, error: unknown): Promise<unknown> {
    if (!(error instanceof ClickHouseException) || error.codeName !== "NETWORK_ERROR") return error;
    const wanted = (await this.#services.find(serviceId))?.desiredState ?? "deleted";
    if (wanted === "running") return error;
    return clickHouseException("NETWORK_ERROR", `The service was ${wanted} before the query ended.`, { cause: error });
  }

  #lend(serviceId: string, engine: RunningEngine, isActivity: boolean): ServiceLease {
    const activity = this.#activityOf(serviceId);
    activity.active += 1;
    if (isActivity) activity.lastAt = Date.now();
    let held = true;
    return {
      address: engine.address,
      readerAddress: engine.readerAddress,
      forwardAddress: engine.forwardAddress,
      release: () => {
        if (!held) return;
        held = false;
        activity.active -= 1;
        if (isActivity) activity.lastAt = Date.now();
      },
    };
  }

  /**
   * The running engine, or undefined when there is none. The engine stays in service while it is held, but that does
   * not count as activity.
   */
  acquireRunning(serviceId: string): ServiceLease | undefined {
    const engine = this.#engines.get(serviceId);
    return engine && this.#lend(serviceId, engine, false);
  }

  /** The same for a read-only user. */
  async acquireReader(serviceId: string, signal: AbortSignal): Promise<Pick<ServiceLease, "address" | "release">> {
    const { readerAddress, release } = await this.acquire(serviceId, signal);
    return { address: readerAddress, release };
  }

  /**
   * The address of the running engine for reads that are not a use of the service: they neither wake it nor keep it
   * awake, and the engine may end while they run. Undefined when no engine runs.
   */
  observeReader(serviceId: string): RunningEngine["readerAddress"] | undefined {
    return this.#engines.get(serviceId)?.readerAddress;
  }

  async #waitForEngine(serviceId: string, signal: AbortSignal): Promise<RunningEngine> {
    const began = performance.now();
    let deadline = began + wakeTimeoutMs;
    for (;;) {
      signal.throwIfAborted();
      const changed = this.#nextChange(signal, deadline - performance.now());
      try {
        const row = await this.#services.find(serviceId);
        const engine = this.#engines.get(serviceId);
        if (engine !== undefined) return engine;
        if (row !== undefined && traitsOf(row).isInCluster) deadline = began + podsWakeTimeoutMs;
        if (row === undefined || row.desiredState === "deleted") {
          throw new AppError("SERVICE_UNAVAILABLE", "The service no longer exists.");
        }
        if (row.desiredState === "stopped" || row.state === "failed") {
          const reason = row.state === "failed" ? reasonOf(row) : "";
          throw new AppError("SERVICE_UNAVAILABLE", `The service is not running. Current state: ${row.state}${reason}`);
        }
        if (this.#nodes !== undefined) await requireHere(row, this.#nodes);
        if (performance.now() >= deadline) {
          throw new AppError("TIMEOUT", `The service did not start in time${reasonOf(row) || "."}`);
        }
        if (row.state === "idle" || row.state === "stopping") await this.#services.requestWake(serviceId);
        this.#poke();
        await changed.happened;
      } finally {
        changed.cancel();
      }
    }
  }

  #nextChange(signal: AbortSignal, timeoutMs: number): { happened: Promise<void>; cancel(): void } {
    let cancel = () => {};
    const happened = new Promise<void>((resolve) => {
      const timer = setTimeout(() => cancel(), Math.max(0, timeoutMs));
      cancel = () => {
        clearTimeout(timer);
        this.#waiting.delete(cancel);
        signal.removeEventListener("abort", cancel);
        resolve();
      };
      this.#waiting.add(cancel);
      signal.addEventListener("abort", cancel);
    });
    return { happened, cancel };
  }

  #activityOf(serviceId: string): Activity {
    let activity = this.#activity.get(serviceId);
    if (activity === undefined) {
      activity = { active: 0, lastAt: Date.now() };
      this.#activity.set(serviceId, activity);
    }
    return activity;
  }
}

/** In brackets; empty when none is known. */
function reasonOf({ stateMessage }: { readonly stateMessage: string | null }): string {
  return stateMessage ? ` (${stateMessage})` : "";
}
