import type { RuntimeKind, Service } from "../../store/services.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";

/** Runs every service with the runtime of its kind. */
export class RuntimesByKind implements ServiceRuntime {
  readonly #runtimes: Readonly<Record<RuntimeKind, ServiceRuntime>>;

  constructor(runtimes: Readonly<Record<RuntimeKind, ServiceRuntime>>) {
    this.#runtimes = runtimes;
  }

  start(service: Service): Promise<RunningEngine> {
    return this.#runtimes[service.runtime].start(service);
  }

  async standBy(service: Service): Promise<void> {
    await this.#runtimes[service.runtime].standBy?.(service);
  }

  async standDown(serviceId: string): Promise<void> {
    for (const runtime of Object.values(this.#runtimes)) await runtime.standDown?.(serviceId);
  }

  /** Every runtime may keep something of the service on this machine. */
  async remove(serviceId: string): Promise<void> {
    for (const runtime of Object.values(this.#runtimes)) await runtime.remove(serviceId);
  }
}
