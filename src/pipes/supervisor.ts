/**
 * Makes every pipe what is asked for: one worker per running pipe, none for any other. The body takes no input; only this
 * file writes pipe states. A worker's reports are remembered and written by the next pass.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { PipeState } from "../api/pipes.ts";
import { Backoff } from "../lib/backoff.ts";
import { describeError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { endRecorded, recordProcess } from "../lib/process.ts";
import type { Json } from "../sources/source.ts";
import type { Ledger } from "../store/ledger.ts";
import type { Pipe, PipeStore } from "../store/pipes.ts";
import type { ServiceStore } from "../store/services.ts";
import { jobOf } from "./job.ts";
import type { FrozenIntent } from "./runner.ts";
import { spawnWorker, type WorkerHandlers, type WorkerProcess, type WorkerReport } from "./worker-process.ts";

const stopGraceMs = 10_000;

type Lease = { readonly socketPath: string; release(): void };

export type SupervisorOptions = {
  readonly pipes: PipeStore;
  readonly services: ServiceStore;
  readonly ledger: Ledger;
  /** The way to a service's engine; wakes it and counts as activity until released. */
  readonly acquire: (serviceId: string, signal: AbortSignal) => Promise<Lease>;
  readonly dataDir: string;
  readonly logger: Logger;
  readonly poke: () => void;
};

type Running = {
  readonly worker: WorkerProcess;
  readonly generation: number;
  readonly abort: AbortController;
  readonly leases: Map<number, Lease>;
  phase: PipeState;
  trouble: string | null;
  outcome: { readonly state: PipeState; readonly reason: string | null } | undefined;
  gauges: Readonly<Record<string, number>>;
};

type Tracked = {
  running: Running | undefined;
  action: Promise<void> | undefined;
  notBefore: number;
  death: string | null;
  readonly backoff: Backoff;
};

export class PipesSupervisor {
  readonly #options: SupervisorOptions;
  readonly #tracked = new Map<string, Tracked>();
  #closing = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    mkdirSync(this.#folder(), { recursive: true });
  }

  /** One pass over all pipes. */
  async pass(): Promise<void> {
    const pipes = await this.#options.pipes.listAll();
    const known = new Set(pipes.map((pipe) => pipe.id));
    for (const { id } of pipes) await this.#look(id);
    // A deleted service takes its pipes' rows with it; their workers follow.
    for (const [id, tracked] of this.#tracked) {
      if (known.has(id) || tracked.action !== undefined) continue;
      if (tracked.running === undefined) this.#tracked.delete(id);
      else this.#act(tracked, () => this.#end(id, tracked));
    }
  }

  /** What the pipe's worker last reported, such as lag; empty while it does not run. */
  gauges(pipeId: string): Readonly<Record<string, number>> {
    return this.#tracked.get(pipeId)?.running?.gauges ?? {};
  }

  /** Ends every worker; states stay, so that the next start brings the same pipes back. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all(
      [...this.#tracked.entries()].map(async ([id, tracked]) => {
        await tracked.action;
        await this.#end(id, tracked);
      }),
    );
  }

  async #look(id: string): Promise<void> {
    const tracked = this.#trackedFor(id);
    if (tracked.action !== undefined) return;
    const pipe = await this.#options.pipes.find(id);
    if (pipe === undefined || tracked.action !== undefined || this.#closing) return;
    if (pipe.desiredState === "deleted") return this.#act(tracked, () => this.#remove(pipe, tracked));
    if (pipe.desiredState === "stopped") return await this.#rest(pipe, tracked, null);
    const service = await this.#options.services.find(pipe.serviceId);
    if (service === undefined || service.desired_state !== "running" || service.state === "failed") {
      return await this.#rest(
        pipe,
        tracked,
        `The service is ${service?.state ?? "gone"}; the pipe goes on when it runs.`,
      );
    }
    const { running } = tracked;
    if (running === undefined) await this.#lookAtMissing(pipe, tracked);
    else if (running.outcome !== undefined) this.#act(tracked, () => this.#finish(pipe, tracked, running));
    else if (running.generation !== pipe.generation) this.#act(tracked, () => this.#end(id, tracked));
    else await this.#showLive(pipe, tracked, running);
  }

  /** No worker wanted: end one that runs, and say so. */
  async #rest(pipe: Pipe, tracked: Tracked, reason: string | null): Promise<void> {
    tracked.backoff.reset();
    tracked.notBefore = 0;
    if (tracked.running === undefined) return await this.#setState(pipe, "Stopped", reason);
    await this.#setState(pipe, "Stopping", reason);
    this.#act(tracked, () => this.#end(pipe.id, tracked));
  }

  async #lookAtMissing(pipe: Pipe, tracked: Tracked): Promise<void> {
    const settled = pipe.state === "Completed" || pipe.state === "Failed";
    if (settled && pipe.observedGeneration === pipe.generation) return;
    if (tracked.death !== null) await this.#setState(pipe, "Degraded", tracked.death);
    if (Date.now() >= tracked.notBefore) this.#act(tracked, () => this.#start(pipe, tracked));
  }

  async #showLive(pipe: Pipe, tracked: Tracked, running: Running): Promise<void> {
    if (running.trouble !== null) return await this.#setState(pipe, "Degraded", running.trouble);
    if (running.phase === "Running") {
      tracked.death = null;
      tracked.backoff.reset();
    }
    await this.#setState(pipe, running.phase, null);
  }

  async #start(pipe: Pipe, tracked: Tracked): Promise<void> {
    const pidFile = this.#pidFile(pipe.id);
    await endRecorded(pidFile);
    const secrets = await this.#options.pipes.secrets(pipe.id);
    const abort = new AbortController();
    const leases = new Map<number, Lease>();
    const worker = spawnWorker({
      job: jobOf(pipe, secrets),
      handlers: this.#handlers(pipe, abort.signal, leases),
      onReport: (report) => this.#noteReport(running, report),
      compileCacheDir: join(this.#options.dataDir, "cache", "code"),
    });
    recordProcess(pidFile, worker.pid);
    const running: Running = {
      ...{ worker, abort, leases, generation: pipe.generation, phase: "Provisioning" },
      ...{ trouble: null, outcome: undefined, gauges: {} },
    };
    tracked.running = running;
    void worker.ended.then((how) => this.#ended(pipe.id, tracked, running, how));
  }

  #noteReport(running: Running, report: WorkerReport): void {
    if (report.type === "gauges") {
      running.gauges = report.gauges;
      return;
    }
    if (report.type === "phase") running.phase = report.phase;
    if (report.type === "trouble") running.trouble = report.reason;
    if (report.type === "completed") running.outcome = { state: "Completed", reason: null };
    if (report.type === "failed") running.outcome = { state: "Failed", reason: report.reason };
    this.#options.poke();
  }

  async #finish(pipe: Pipe, tracked: Tracked, running: Running): Promise<void> {
    await this.#end(pipe.id, tracked);
    const outcome = running.outcome as { state: PipeState; reason: string | null };
    await this.#options.pipes.setState(pipe.id, outcome.state, outcome.reason, running.generation);
    this.#options.logger.info({ pipeId: pipe.id, ...outcome }, "pipe ended");
  }

  async #remove(pipe: Pipe, tracked: Tracked): Promise<void> {
    await this.#end(pipe.id, tracked);
    await this.#options.pipes.remove(pipe.id);
    this.#tracked.delete(pipe.id);
  }

  async #end(id: string, tracked: Tracked): Promise<void> {
    const { running } = tracked;
    tracked.running = undefined;
    tracked.death = null;
    if (running === undefined) return;
    await running.worker.stop(stopGraceMs);
    rmSync(this.#pidFile(id), { force: true });
  }

  /** The worker's process is gone: give its leases back, and, unless it was ended by us, start another after a pause. */
  #ended(id: string, tracked: Tracked, running: Running, how: string): void {
    running.abort.abort(new Error("the pipe worker ended"));
    for (const lease of running.leases.values()) lease.release();
    running.leases.clear();
    if (tracked.running !== running || running.outcome !== undefined) return;
    tracked.running = undefined;
    tracked.death = `The pipe worker ended unexpectedly: ${how}.`;
    tracked.notBefore = Date.now() + (tracked.backoff.attempts === 0 ? 0 : tracked.backoff.next());
    if (tracked.backoff.attempts === 0) tracked.backoff.next();
    this.#options.logger.warn({ pipeId: id, how }, "pipe worker died");
    this.#options.poke();
  }

  #handlers(pipe: Pipe, signal: AbortSignal, leases: Map<number, Lease>): WorkerHandlers {
    const { ledger, acquire } = this.#options;
    let lastLease = 0;
    return {
      intents: async () => (await ledger.intents(pipe.id)) as unknown as FrozenIntent[],
      checkpoints: async () => (await ledger.checkpoints(pipe.id)) as Record<string, Json>,
      begin: (intent) => ledger.begin(pipe.id, intent),
      replace: ({ batchId, intents }) => ledger.replace(pipe.id, batchId, intents),
      confirm: (done) => ledger.confirm(pipe.id, done),
      marks: (keys) => ledger.marks(pipe.id, keys),
      acquire: async () => {
        const lease = await acquire(pipe.serviceId, signal);
        lastLease += 1;
        leases.set(lastLease, lease);
        return { leaseId: lastLease, socketPath: lease.socketPath };
      },
      release: async (leaseId) => {
        leases.get(leaseId)?.release();
        leases.delete(leaseId);
      },
    };
  }

  /** Runs an action beside the loop; nothing else is done with the pipe meanwhile. */
  #act(tracked: Tracked, action: () => Promise<void>): void {
    tracked.action = action()
      .catch((error) => {
        tracked.notBefore = Date.now() + tracked.backoff.next();
        this.#options.logger.error({ err: error }, `pipe action failed: ${describeError(error)}`);
      })
      .finally(() => {
        tracked.action = undefined;
        this.#options.poke();
      });
  }

  async #setState(pipe: Pipe, state: PipeState, reason: string | null): Promise<void> {
    if (pipe.state === state && pipe.lastError === reason && pipe.observedGeneration === pipe.generation) return;
    await this.#options.pipes.setState(pipe.id, state, reason, pipe.generation);
    this.#options.logger.info({ pipeId: pipe.id, state, reason }, "pipe state");
  }

  #trackedFor(id: string): Tracked {
    let tracked = this.#tracked.get(id);
    if (tracked === undefined) {
      const backoff = new Backoff({ baseMs: 500, capMs: 60_000 });
      tracked = { running: undefined, action: undefined, notBefore: 0, death: null, backoff };
      this.#tracked.set(id, tracked);
    }
    return tracked;
  }

  #folder(): string {
    return join(this.#options.dataDir, "pipes");
  }

  #pidFile(id: string): string {
    return join(this.#folder(), `${id}.pid`);
  }
}
