import type { EngineLease } from "../../clickhouse/lease.ts";
import type { Service } from "../../store/services/services.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";
import { type Transition, unwatched } from "../transitions.ts";

/** Restores data into the engine of a new service; throws when it cannot. */
export type EngineRestorer = (engine: RunningEngine) => Promise<void>;

export class LeasingRuntime implements ServiceRuntime {
  readonly #inner: ServiceRuntime;
  readonly #restorerFor: (serviceId: string) => Promise<EngineRestorer | undefined>;
  /** Per service, the end of the latest operation. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #live = new Set<string>();

  /** `restorerFor` returns what must be restored before the service serves, or undefined. */
  constructor(inner: ServiceRuntime, restorerFor: (serviceId: string) => Promise<EngineRestorer | undefined>) {
    this.#inner = inner;
    this.#restorerFor = restorerFor;
  }

  start(service: Service, transition: Transition): Promise<RunningEngine> {
    return this.#inTurn(service.id, () => this.#startRestored(service, transition));
  }

  connect(service: Service): Promise<RunningEngine> {
    const connect = () => this.#inner.connect?.(service) ?? this.#inner.start(service, unwatched);
    return this.#inTurn(service.id, () => this.#track(service.id, connect));
  }

  halt(service: Service, transition: Transition): Promise<void> {
    return this.#inTurn(service.id, async () => this.#inner.halt?.(service, transition));
  }

  /** Prepares nothing for a service that somebody uses or waits for. */
  async standBy(service: Service): Promise<void> {
    if (this.#live.has(service.id) || this.#turns.has(service.id)) return;
    await this.#inTurn(service.id, async () => await this.#inner.standBy?.(service));
  }

  remove(service: Service, transition: Transition): Promise<void> {
    return this.#inTurn(service.id, () => this.#inner.remove(service, transition));
  }

  /**
   * Starts the engine of a service that is not running, for one user; starting or removing the service waits until it
   * is released, which stops it. Undefined when the service's engine runs already.
   */
  lease(service: Service): Promise<EngineLease | undefined> {
    const given = Promise.withResolvers<EngineLease | undefined>();
    const turn = this.#inTurn(service.id, async () => {
      if (this.#live.has(service.id)) return given.resolve(undefined);
      const engine = await this.#startRestored(service, unwatched);
      await new Promise<void>((released) => {
        given.resolve({
          address: engine.address,
          release: async () => {
            released();
            await turn;
          },
        });
      });
      await engine.stop();
      await this.#inner.halt?.(service, unwatched);
    });
    turn.catch(given.reject);
    return given.promise;
  }

  async #startRestored(service: Service, transition: Transition): Promise<RunningEngine> {
    const restore = await this.#restorerFor(service.id);
    // It is unknown what a killed attempt has restored: every attempt starts with an empty service.
    if (restore !== undefined) await this.#inner.remove(service, transition);
    const engine = await this.#track(service.id, () => this.#inner.start(service, transition));
    try {
      await restore?.(engine);
      return engine;
    } catch (error) {
      await engine.stop();
      throw error;
    }
  }

  async #track(serviceId: string, start: () => Promise<RunningEngine>): Promise<RunningEngine> {
    const engine = await start();
    this.#live.add(serviceId);
    const ended = engine.ended.then((how) => {
      this.#live.delete(serviceId);
      return how;
    });
    return { ...engine, ended };
  }

  #inTurn<T>(serviceId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(serviceId) ?? Promise.resolve();
    const mine = before.then(work);
    const settled = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(serviceId, settled);
    void settled.then(() => this.#turns.get(serviceId) === settled && this.#turns.delete(serviceId));
    return mine;
  }
}
