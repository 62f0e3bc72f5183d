/** Two servers and three workers on one metadata database, and what each of them says in a file of its own. */
import { join } from "node:path";
import { freePorts } from "../network/free-port.ts";
import { type Served, serve, serveWorker, type WorkerServed } from "../serve.ts";
import { sharedEnvironment } from "./shared-database.ts";

const workers = 3;

/** Names a process of the installation, also after a restart. */
export type PlanesNode = { readonly kind: "server" | "worker"; readonly at: number };

export class Installation implements AsyncDisposable {
  #servers: readonly Served[] = [];
  #workers: readonly WorkerServed[] = [];

  private constructor() {}

  static async start(database: string, logFolder: string): Promise<Installation> {
    const installation = new Installation();
    const env = { ...sharedEnvironment(database), MILLRACE_LOG_LEVEL: "info", MILLRACE_PIPE_WORKERS: "1" };
    const logFile = (name: string) => join(logFolder, `${name}.log`);
    try {
      for (const [at, port] of (await freePorts(2)).entries()) {
        const served = await serve({ env, port, logFile: logFile(nameOf({ kind: "server", at })) });
        installation.#servers = [...installation.#servers, served];
      }
      for (let at = 0; at < workers; at += 1) {
        const worker = await serveWorker({ env, logFile: logFile(nameOf({ kind: "worker", at })) });
        installation.#workers = [...installation.#workers, worker];
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

  get nodes(): readonly PlanesNode[] {
    const servers = this.#servers.map((_, at) => ({ kind: "server", at }) as const);
    return [...servers, ...this.#workers.map((_, at) => ({ kind: "worker", at }) as const)];
  }

  processOf({ kind, at }: PlanesNode) {
    return ((kind === "server" ? this.#servers : this.#workers)[at] as WorkerServed).process;
  }

  /** kill -9, and a start on the same data directory after a while. */
  async restart(node: PlanesNode, away: () => Promise<void>): Promise<void> {
    this.processOf(node).kill("SIGKILL");
    await away();
    const { kind, at } = node;
    if (kind === "server") {
      this.#servers = this.#servers.with(at, await (this.#servers[at] as Served).restartAfterKill());
    } else {
      this.#workers = this.#workers.with(at, await (this.#workers[at] as WorkerServed).restartAfterKill());
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of [...this.#workers, ...this.#servers]) {
      one.process.kill("SIGCONT");
      await one[Symbol.asyncDispose]();
    }
  }
}

export function nameOf({ kind, at }: PlanesNode): string {
  return `${kind}-${at + 1}`;
}
