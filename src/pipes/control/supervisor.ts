/**
 * Makes every pipe what is asked for: starts its workers, stops them, starts dead ones again, and writes the pipe's
 * state. The body takes no input; whatever takes time runs beside it, one action per pipe, and pokes the loop when it is
 * over. Only this file writes pipe states.
 */

import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Backoff } from "../../lib/backoff.ts";
import { describeError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { endRecorded } from "../../lib/process.ts";
import type { Permits } from "../../outgoing/permits.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import { connectorOf } from "../../sources/connectors.ts";
import { kindOf } from "../../sources/registry.ts";
import type { NetworkContext } from "../../sources/source.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { Pipe, PipeStore } from "../../store/pipes.ts";
import type { ServiceStore } from "../../store/services.ts";
import type { Limits, WorkerStatus } from "../protocol.ts";
import { fullConfig, jobOf } from "./definition.ts";
import { type AcquireService, type DiskProblem, Replica } from "./replica.ts";
import { isFinal, serviceAllowsPipes, shownState } from "./state.ts";

/** Deaths of workers without a stable minute in between, after which the pipe is an internal error. */
const maxDeaths = 8;
const stableRunMs = 60_000;

type Tracked = {
  replicas: Replica[];
  /** Generation of the definition that the replicas run. */
  generation: number;
  action: Promise<void> | undefined;
  deaths: number;
  notBefore: number;
  readonly backoff: Backoff;
};

export type SupervisorOptions = {
  readonly pipes: PipeStore;
  readonly services: ServiceStore;
  readonly ledger: Ledger;
  readonly acquire: AcquireService;
  readonly diskProblem: DiskProblem;
  readonly logger: Logger;
  /** Pid files of workers live in its folder `pipes`, compiled code of each pipe in `cache/pipes`. */
  readonly dataDir: string;
  readonly limits: Limits;
  /** Where workers may connect to. */
  readonly policy: OutgoingPolicy;
  readonly permits: Permits;
  readonly poke: () => void;
};

export class PipesSupervisor {
  readonly #options: SupervisorOptions;
  readonly #tracked = new Map<string, Tracked>();
  readonly #runDir: string;
  #toldPorts = "";
  #closing = false;
  #swept = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#runDir = join(options.dataDir, "pipes");
  }

  /** One pass over all pipes. */
  async pass(): Promise<void> {
    await this.#endLeftovers();
    this.#tellOwnPorts();
    const pipes = await this.#options.pipes.listAll();
    for (const { id } of pipes) await this.#look(id);
    const known = new Set(pipes.map((pipe) => pipe.id));
    for (const [id, tracked] of this.#tracked) {
      if (!known.has(id) && tracked.action === undefined) this.#act(tracked, id, () => this.#forget(id, tracked));
    }
  }

  /** Ends every worker; states stay as they are, so that the next start brings the same pipes back. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all(
      [...this.#tracked.values()].map(async (tracked) => {
        await tracked.action;
        await stopAll(tracked);
      }),
    );
  }

  /** Gauges of the pipe's running workers, summed. */
  gauges(pipeId: string): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const replica of this.#tracked.get(pipeId)?.replicas ?? []) {
      for (const [name, value] of Object.entries(replica.gauges)) sums[name] = (sums[name] ?? 0) + value;
    }
    return sums;
  }

  /** Running workers learn of the ports of new services. */
  #tellOwnPorts(): void {
    const { ownPorts } = this.#options.policy.rules;
    if (ownPorts.join() === this.#toldPorts) return;
    this.#toldPorts = ownPorts.join();
    for (const { replicas } of this.#tracked.values()) for (const replica of replicas) replica.tellOwnPorts(ownPorts);
  }

  /** Workers that outlived the control plane before this one. */
  async #endLeftovers(): Promise<void> {
    if (this.#swept) return;
    mkdirSync(this.#runDir, { recursive: true, mode: 0o700 });
    for (const file of readdirSync(this.#runDir)) await endRecorded(join(this.#runDir, file));
    this.#swept = true;
  }

  async #look(id: string): Promise<void> {
    const tracked = this.#trackedFor(id);
    if (tracked.action !== undefined) return;
    const pipe = await this.#options.pipes.find(id);
    if (pipe === undefined || tracked.action !== undefined || this.#closing) return;
    const running = tracked.replicas.length > 0;
    if (pipe.desiredState === "deleted") return this.#act(tracked, id, () => this.#remove(pipe, tracked));
    if (pipe.resyncRequested) return this.#act(tracked, id, () => this.#startOver(pipe, tracked));
    if (pipe.desiredState === "stopped") {
      if (running || pipe.state !== "Stopped" || pipe.observedGeneration !== pipe.generation) {
        this.#act(tracked, id, () => this.#stop(pipe, tracked));
      }
      return;
    }
    const service = await this.#options.services.find(pipe.serviceId);
    if (!serviceAllowsPipes(service)) {
      if (running) return this.#act(tracked, id, () => this.#end(tracked));
      return await this.#wait(pipe, service?.state);
    }
    if (running && tracked.generation !== pipe.generation) {
      return this.#act(tracked, id, () => this.#end(tracked));
    }
    if (running) return await this.#lookAtReplicas(pipe, tracked);
    if (isFinal(pipe.state) && pipe.observedGeneration === pipe.generation) return;
    if (Date.now() >= tracked.notBefore) this.#act(tracked, id, () => this.#start(pipe, tracked));
  }

  async #lookAtReplicas(pipe: Pipe, tracked: Tracked): Promise<void> {
    const statuses = tracked.replicas.map((replica) => replica.status);
    const dead = tracked.replicas.find((replica) => replica.over && !isDone(replica.status));
    if (dead !== undefined) return this.#act(tracked, pipe.id, () => this.#died(pipe, tracked, dead));
    const stable = tracked.replicas.every((replica) => Date.now() - replica.startedAt > stableRunMs);
    if (stable && tracked.deaths > 0) forgive(tracked);
    const shown = shownState(statuses);
    await this.#setState(pipe, shown.state, shown.reason);
    if (isFinal(shown.state)) this.#act(tracked, pipe.id, () => this.#end(tracked));
  }

  async #start(pipe: Pipe, tracked: Tracked): Promise<void> {
    // A restart after a death keeps its word and reason until the worker says something else.
    if (pipe.state !== "Degraded") await this.#setState(pipe, "Provisioning", null);
    const secrets = await this.#options.pipes.secrets(pipe.id);
    const single = kindOf(pipe.sourceKind).targets !== undefined;
    const count = single ? 1 : Math.max(1, pipe.scaling.replicas ?? 1);
    const run = randomUUID();
    const { limits, policy } = this.#options;
    const organizationId = await this.#organizationOf(pipe);
    tracked.generation = pipe.generation;
    tracked.replicas = Array.from({ length: count }, (_, index) => {
      const replica = { index, count, run };
      const job = jobOf(pipe, secrets, { replica, limits, organizationId, outgoing: policy.rules });
      return new Replica({
        job,
        serviceId: pipe.serviceId,
        ledger: this.#options.ledger,
        acquire: this.#options.acquire,
        diskProblem: this.#options.diskProblem,
        permits: this.#options.permits,
        pidFile: join(this.#runDir, index === 0 ? `${pipe.id}.pid` : `${pipe.id}.${index}.pid`),
        process: {
          name: `${pipe.id}-${index}`,
          cacheDir: this.#cacheDir(pipe.id),
          launcherCacheDir: join(this.#options.dataDir, "cache", "launcher"),
        },
        logger: this.#options.logger,
        changed: this.#options.poke,
      });
    });
  }

  async #died(pipe: Pipe, tracked: Tracked, dead: Replica): Promise<void> {
    await this.#end(tracked);
    tracked.deaths += 1;
    tracked.notBefore = tracked.deaths === 1 ? 0 : Date.now() + tracked.backoff.next();
    const reason = `the worker ended unexpectedly (${dead.how})`;
    this.#options.logger.warn({ pipeId: pipe.id, deaths: tracked.deaths, reason }, "pipe worker died");
    if (tracked.deaths < maxDeaths) return await this.#setState(pipe, "Degraded", reason);
    forgive(tracked);
    await this.#setState(pipe, "InternalError", `gave up after ${maxDeaths} attempts; ${reason}`);
  }

  async #stop(pipe: Pipe, tracked: Tracked): Promise<void> {
    if (tracked.replicas.length > 0) await this.#setState(pipe, "Stopping", null);
    await this.#end(tracked);
    forgive(tracked);
    await this.#setState(pipe, "Stopped", null);
  }

  /** The service is stopped or failed: no workers until it runs again. */
  async #wait(pipe: Pipe, serviceState: string | undefined): Promise<void> {
    if (isFinal(pipe.state) && pipe.observedGeneration === pipe.generation) return;
    const reason = `waiting for the service. Current state: ${serviceState ?? "deleted"}`;
    await this.#setState(pipe, "Stopped", reason);
  }

  async #startOver(pipe: Pipe, tracked: Tracked): Promise<void> {
    await this.#setState(pipe, "Resync", null);
    await this.#end(tracked);
    forgive(tracked);
    await this.#options.pipes.startOver(pipe.id);
  }

  async #remove(pipe: Pipe, tracked: Tracked): Promise<void> {
    if (tracked.replicas.length > 0) await this.#setState(pipe, "Stopping", null);
    await this.#end(tracked);
    await this.#cleanUp(pipe);
    await this.#options.pipes.remove(pipe.id);
    await rm(this.#cacheDir(pipe.id), { recursive: true, force: true, maxRetries: 3 });
    this.#tracked.delete(pipe.id);
  }

  #cacheDir(pipeId: string): string {
    return join(this.#options.dataDir, "cache", "pipes", pipeId);
  }

  /** What the connector made at the source goes with the pipe; a source that is gone does not keep the pipe alive. */
  async #cleanUp(pipe: Pipe): Promise<void> {
    try {
      const connector = await connectorOf(pipe.sourceKind);
      if (connector.cleanUp === undefined) return;
      const config = fullConfig(pipe, await this.#options.pipes.secrets(pipe.id));
      const organizationId = await this.#organizationOf(pipe);
      const network = { policy: this.#options.policy, organizationId, ...noReads };
      await connector.cleanUp(config as never, { network, pipeId: pipe.id }, AbortSignal.timeout(30_000));
    } catch (error) {
      const reason = describeError(error);
      this.#options.logger.warn({ pipeId: pipe.id, reason }, "the source could not be cleaned up");
    }
  }

  async #organizationOf(pipe: Pipe): Promise<string> {
    return (await this.#options.services.find(pipe.serviceId))?.organizationId ?? "";
  }

  async #forget(id: string, tracked: Tracked): Promise<void> {
    await this.#end(tracked);
    this.#tracked.delete(id);
  }

  async #end(tracked: Tracked): Promise<void> {
    await stopAll(tracked);
    tracked.replicas = [];
  }

  /** Runs an action beside the loop; nothing else is done with the pipe meanwhile. */
  #act(tracked: Tracked, pipeId: string, action: () => Promise<void>): void {
    const mine: Promise<void> = action()
      .catch((error) => {
        tracked.notBefore = Date.now() + tracked.backoff.next();
        this.#options.logger.error({ err: error, pipeId }, "pipe action failed");
      })
      .finally(() => {
        if (tracked.action === mine) tracked.action = undefined;
        this.#options.poke();
      });
    tracked.action = mine;
  }

  async #setState(pipe: Pipe, state: Pipe["state"], reason: string | null): Promise<void> {
    const now = await this.#options.pipes.find(pipe.id);
    if (now === undefined) return;
    if (now.state === state && now.lastError === reason && now.observedGeneration === pipe.generation) return;
    await this.#options.pipes.setState(pipe.id, state, reason, pipe.generation);
    this.#options.logger.info({ pipeId: pipe.id, state, ...(reason === null ? {} : { reason }) }, "pipe state");
  }

  #trackedFor(id: string): Tracked {
    let tracked = this.#tracked.get(id);
    if (tracked === undefined) {
      const backoff = new Backoff({ baseMs: 500, capMs: 30_000 });
      tracked = { replicas: [], generation: 0, action: undefined, deaths: 0, notBefore: 0, backoff };
      this.#tracked.set(id, tracked);
    }
    return tracked;
  }
}

/** Cleaning up at a source reads nothing of it. */
const noReads: Pick<NetworkContext, "permitEngine" | "listenForEngine"> = {
  permitEngine: async () => {},
  listenForEngine: async () => {
    throw new TypeError("nothing is read while a source is cleaned up");
  },
};

function isDone(status: WorkerStatus): boolean {
  return status.phase === "completed" || status.phase === "failed";
}

async function stopAll(tracked: Tracked): Promise<void> {
  await Promise.all(tracked.replicas.map((replica) => replica.stop()));
  for (const replica of tracked.replicas) rmSync(replica.pidFile, { force: true });
}

function forgive(tracked: Tracked): void {
  tracked.deaths = 0;
  tracked.notBefore = 0;
  tracked.backoff.reset();
}
