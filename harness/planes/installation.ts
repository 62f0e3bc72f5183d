/** Two servers and three workers on one Postgres database, and the faults that they must survive. */
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "../network/free-port.ts";
import type { TestPostgres } from "../postgres/postgres.ts";
import { type Served, serve, serveWorker, type WorkerServed } from "../serve.ts";
import { sharedEnvironment } from "./shared-database.ts";

type Process = Pick<Served, "process" | "dataDir">;

export type PlanesFaults = {
  serverKills: number;
  workerKills: number;
  suspensions: number;
  databaseCrashes: number;
};

/** Longer than a lease. */
const suspendMs = 18_000;

export class Installation implements AsyncDisposable {
  readonly faults: PlanesFaults = { serverKills: 0, workerKills: 0, suspensions: 0, databaseCrashes: 0 };
  readonly #postgres: TestPostgres;
  #servers: readonly Served[] = [];
  #workers: readonly WorkerServed[] = [];
  #due: string[] = [];
  #suspended: { readonly one: Process; readonly done: Promise<void> } | undefined;
  /** True while requests may be refused. */
  isDatabaseAway = false;

  private constructor(postgres: TestPostgres) {
    this.#postgres = postgres;
  }

  static async start(postgres: TestPostgres, database: string): Promise<Installation> {
    const installation = new Installation(postgres);
    const env = sharedEnvironment(database);
    try {
      for (const port of await freePorts(2)) {
        installation.#servers = [...installation.#servers, await serve({ env, port })];
      }
      for (let at = 0; at < 3; at += 1) {
        installation.#workers = [...installation.#workers, await serveWorker({ env })];
      }
      return installation;
    } catch (error) {
      await installation[Symbol.asyncDispose]();
      throw error;
    }
  }

  get servers(): readonly Served[] {
    return this.#servers;
  }

  /** Injects one fault. At most one process is away at a time, besides one that is suspended. */
  async strike(next: () => number): Promise<void> {
    // Every kind comes before one comes again.
    if (this.#due.length === 0) this.#due = ["database", "suspension", "server", "worker"];
    const [kind] = this.#due.splice(Math.floor(next() * this.#due.length), 1);
    if (kind === "database") await this.#crashDatabase(next);
    else if (kind === "suspension" && this.#suspended === undefined) this.#suspend(next);
    else if (kind === "server") await this.#killServer(next);
    else await this.#killWorker(next);
  }

  /** Everything runs again. */
  async settle(): Promise<void> {
    await this.#suspended?.done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#suspended?.one.process.kill("SIGCONT");
    for (const one of [...this.#workers, ...this.#servers]) await one[Symbol.asyncDispose]();
  }

  async #crashDatabase(next: () => number): Promise<void> {
    this.isDatabaseAway = true;
    await this.#postgres.crash();
    await delay(next() * 4_000);
    await this.#postgres.start();
    this.isDatabaseAway = false;
    this.faults.databaseCrashes += 1;
  }

  #suspend(next: () => number): void {
    const all: readonly Process[] = [...this.#workers, ...this.#servers];
    const one = all[Math.floor(next() * all.length)] as Process;
    one.process.kill("SIGSTOP");
    const resume = async () => {
      await delay(suspendMs + next() * 5_000);
      one.process.kill("SIGCONT");
      this.#suspended = undefined;
      this.faults.suspensions += 1;
    };
    this.#suspended = { one, done: resume() };
  }

  async #killServer(next: () => number): Promise<void> {
    // One server answers at any time.
    if (this.#servers.some((served) => served.process === this.#suspended?.one.process)) return;
    const at = Math.floor(next() * this.#servers.length);
    const killed = this.#servers[at] as Served;
    const started = await killed.restartAfterKill();
    this.#servers = this.#servers.with(at, started);
    this.faults.serverKills += 1;
  }

  async #killWorker(next: () => number): Promise<void> {
    const at = Math.floor(next() * this.#workers.length);
    const killed = this.#workers[at] as WorkerServed;
    if (killed.process === this.#suspended?.one.process) return;
    // Half of them come back when their pipes run elsewhere.
    killed.process.kill("SIGKILL");
    await delay(next() < 0.3 ? suspendMs : next() * 2_000);
    this.#workers = this.#workers.with(at, await killed.restartAfterKill());
    this.faults.workerKills += 1;
  }
}
