/**
 * One worker process as the supervisor sees it. Its calls are answered only while it is current: a replaced worker can
 * change nothing.
 */
import type { ChildProcess } from "node:child_process";
import { Server } from "node:net";
import type { ClickHouseAddress } from "../../clickhouse/client.ts";
import type { AcquireEngine } from "../../clickhouse/lease.ts";
import { AppError, publicMessage } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { recordProcess } from "../../lib/process.ts";
import { relayOutput } from "../../lib/relay-output.ts";
import type { Permits } from "../../outgoing/permits.ts";
import { kindOf } from "../../sources/registry.ts";
import type { ErrorRequestStore } from "../../store/error-requests.ts";
import type { Ledger, StoredIntent } from "../../store/ledger.ts";
import { againShapes } from "../again.ts";
import { StoredForms } from "../durable.ts";
import { againLane, type Calls, type FromWorker, type Job, type ToWorker, type WorkerStatus } from "../protocol.ts";
import { listenForEngine } from "./engine-listener.ts";
import { startWorkerProcess, type WorkerProcessOptions } from "./worker-process.ts";

const stopGraceMs = 10_000;
/** A sentence when the service has no disk left for more data. */
export type DiskProblem = (serviceId: string) => Promise<string | undefined>;

export type ReplicaParts = {
  readonly job: Job;
  readonly serviceId: string;
  readonly ledger: Ledger;
  readonly errorRequests: ErrorRequestStore;
  readonly acquire: AcquireEngine;
  readonly permits: Permits;
  readonly diskProblem: DiskProblem;
  readonly pidFile: string;
  readonly process: Omit<WorkerProcessOptions, "config">;
  readonly logger: Logger;
  /** Called when something has changed that the supervisor should check. */
  readonly changed: () => void;
};

export class Replica {
  readonly #parts: ReplicaParts;
  readonly #child: ChildProcess;
  readonly #forms: StoredForms;
  readonly #leases = new Map<number, () => void>();
  readonly #permits: (() => void)[] = [];
  readonly #ended = new AbortController();
  readonly exited: Promise<void>;
  /** As acquired last. */
  #engine: ClickHouseAddress | undefined;
  #lastLease = 0;
  #status: WorkerStatus = { phase: "preparing" };
  #gauges: Readonly<Record<string, number>> = {};
  #over = false;
  #how = "";

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
    const { task, sourceKind } = parts.job;
    this.#forms = new StoredForms(task === "again" ? againShapes : kindOf(sourceKind).durable);
    this.#child = startWorkerProcess({ ...parts.process, config: parts.job.config });
    relayOutput(this.#child.stderr, parts.logger, {});
    if (this.#child.pid !== undefined) recordProcess(parts.pidFile, this.#child.pid);
    this.exited = new Promise((resolve) => {
      const over = (how: string) => {
        this.#over = true;
        this.#how = how;
        this.#ended.abort();
        for (const release of this.#leases.values()) release();
        this.#leases.clear();
        for (const withdraw of this.#permits.splice(0)) withdraw();
        resolve();
        parts.changed();
      };
      this.#child.once("exit", (code, signal) => over(signal === null ? `exit code ${code}` : `signal ${signal}`));
      this.#child.once("error", (error) => over(error.message));
    });
    this.#child.on("message", (message: FromWorker) => this.#receive(message));
    this.#send({ type: "start", job: parts.job });
  }

  get status(): WorkerStatus {
    return this.#status;
  }

  get gauges(): Readonly<Record<string, number>> {
    return this.#gauges;
  }

  /** True when the process has ended. */
  get over(): boolean {
    return this.#over;
  }

  /** How the process ended. */
  get how(): string {
    return this.#how;
  }

  get pidFile(): string {
    return this.#parts.pidFile;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends the ports that the worker must not connect to from now on. */
  tellOwnPorts(ownPorts: readonly number[]): void {
    if (!this.#over) this.#send({ type: "outgoing", ownPorts });
  }

  /** Lets inserts in progress finish, for a limited time; resolves when the process has ended. */
  async stop(): Promise<void> {
    if (this.#over) return;
    this.#send({ type: "stop" });
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), stopGraceMs);
    await this.exited;
    clearTimeout(killer);
  }

  #receive(message: FromWorker): void {
    if (this.#over) return;
    if (message.type === "call") void this.#answer(message);
    else if (message.type === "gauges") this.#gauges = { ...this.#gauges, ...message.gauges };
    else {
      this.#status = message.status;
      this.#parts.changed();
    }
  }

  async #answer({ id, name, args }: Extract<FromWorker, { type: "call" }>): Promise<void> {
    try {
      const call = this.#calls[name] as (...args: readonly unknown[]) => Promise<unknown>;
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
  readonly #isMine = ({ lane }: StoredIntent) => (lane === againLane) === (this.#parts.job.task === "again");

  get #calls(): Calls {
    const { ledger, errorRequests, job } = this.#parts;
    const { pipeId } = job;
    const forms = this.#forms;
    return {
      begin: async (intent) => {
        // Checked here and not in the engine: a batch that was begun must be inserted in any case.
        const problem = await this.#parts.diskProblem(this.#parts.serviceId);
        if (problem !== undefined) throw new AppError("LIMIT_REACHED", problem);
        await ledger.begin(pipeId, forms.writeIntent(intent));
      },
      replace: (batchId, intents) =>
        ledger.replace(
          pipeId,
          batchId,
          intents.map((intent) => forms.writeIntent(intent)),
        ),
      confirm: (done) => ledger.confirm(pipeId, forms.writeConfirmation(done)),
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
      listenForEngine: async () => {
        const { listener, withdraw } = await listenForEngine(this.#parts.permits, this.#parts.serviceId, this.#engine);
        if (this.#over) withdraw();
        else this.#permits.push(withdraw);
        return listener;
      },
      release: async (lease) => {
        this.#leases.get(lease)?.();
        this.#leases.delete(lease);
      },
    };
  }

  /** A listener sent along belongs to the worker alone afterwards. */
  #send(message: ToWorker, listener?: Server): void {
    if (this.#child.connected) this.#child.send(message, listener, () => listener?.close());
    else listener?.close();
  }
}
