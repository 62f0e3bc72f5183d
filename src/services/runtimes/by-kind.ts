import type { RuntimeKind } from "../../api/runtimes.ts";
import type { Service } from "../../store/services/services.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";
import { type Transition, unwatched } from "../transitions.ts";

/** Runs every service with the runtime of its kind. */
export class RuntimesByKind implements ServiceRuntime {
  readonly #runtimes: Readonly<Record<RuntimeKind, ServiceRuntime>>;

  constructor(runtimes: Readonly<Record<RuntimeKind, ServiceRuntime>>) {
    this.#runtimes = runtimes;
  }

  start(service: Service, transition: Transition): Promise<RunningEngine> {
    return this.#runtimes[service.runtime].start(service, transition);
  }

  connect(service: Service): Promise<RunningEngine> {
    const runtime = this.#runtimes[service.runtime];
    return runtime.connect?.(service) ?? runtime.start(service, unwatched);
  }

  async halt(service: Service, transition: Transition): Promise<void> {
    await this.#runtimes[service.runtime].halt?.(service, transition);
  }

  async standBy(service: Service): Promise<void> {
    await this.#runtimes[service.runtime].standBy?.(service);
  }

  /** Every runtime may keep something of the service on this machine. */
  async remove(service: Service, transition: Transition): Promise<void> {
    for (const runtime of Object.values(this.#runtimes)) await runtime.remove(service, transition);
  }
}
