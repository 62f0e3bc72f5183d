/**
 * Engine hosts that wait for the next start of their service: the process runs behind its wall and has loaded the
 * engine, which it has not started. It holds no key and no user, and takes no processor time.
 */
import { once } from "node:events";
import { hold } from "../confinement/ready-launcher.ts";
import { areFree, boundTo, type EngineHostOptions, type HostProcess, startHostProcess } from "./host-process.ts";

type Standby = HostProcess & { readonly boundTo: string };

/** At most `limit` hosts, one per data directory: the oldest makes room. They end with this process. */
export class StandbyHosts {
  readonly #limit: number;
  /** By data directory, the oldest first. */
  readonly #hosts = new Map<string, Standby>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Prepares the next start with these options. Resolves when the process exists, before it has loaded anything. */
  async prepare(options: EngineHostOptions): Promise<void> {
    if (this.#limit === 0) return;
    await this.drop(options.dataDir);
    const host = await startHostProcess(options, { standby: true });
    hold(host.child, "unref");
    const standby = { ...host, boundTo: boundTo(options) };
    this.#hosts.set(options.dataDir, standby);
    host.child.once("exit", () => this.#forget(options.dataDir, standby));
    host.child.once("error", () => this.#forget(options.dataDir, standby));
    for (const dataDir of [...this.#hosts.keys()].slice(0, -this.#limit)) await this.drop(dataDir);
  }

  /** The host for this start; undefined when none is prepared, or the prepared one does not fit: then it is ended. */
  async take(options: EngineHostOptions): Promise<HostProcess | undefined> {
    const standby = this.#hosts.get(options.dataDir);
    if (standby === undefined) return undefined;
    if (!standby.child.connected || standby.boundTo !== boundTo(options) || !(await areFree(standby.ports))) {
      await this.drop(options.dataDir);
      return undefined;
    }
    this.#forget(options.dataDir, standby);
    hold(standby.child, "ref");
    return standby;
  }

  /** Ends the prepared host of this data directory, if there is one. */
  async drop(dataDir: string): Promise<void> {
    const standby = this.#hosts.get(dataDir);
    if (standby === undefined) return;
    this.#forget(dataDir, standby);
    const { child } = standby;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  #forget(dataDir: string, standby: Standby): void {
    if (this.#hosts.get(dataDir) === standby) this.#hosts.delete(dataDir);
  }
}
