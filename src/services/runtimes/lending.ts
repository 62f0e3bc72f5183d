/**
 * A runtime around another one, which lends a service's engine while it serves no clients: to restore a new service's
 * data before its first query, and to read a stopped service. At most one engine of a service runs at any time.
 */
import type { ClickHouseAddress } from "../../clickhouse/client.ts";
import type { Service } from "../../store/services.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";

/** Restores data into the engine of a new service; throws when it cannot. */
export type Filler = (engine: RunningEngine) => Promise<void>;

export type LentEngine = { readonly address: ClickHouseAddress; release(): Promise<void> };

export class LendingRuntime implements ServiceRuntime {
  readonly #inner: ServiceRuntime;
  readonly #fillerFor: (serviceId: string) => Promise<Filler | undefined>;
  /** Per service, the end of the latest operation. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #live = new Set<string>();

  /** `fillerFor` returns what must be restored before the service serves, or undefined. */
  constructor(inner: ServiceRuntime, fillerFor: (serviceId: string) => Promise<Filler | undefined>) {
    this.#inner = inner;
    this.#fillerFor = fillerFor;
  }

  start(service: Service): Promise<RunningEngine> {
    return this.#inTurn(service.id, () => this.#startFilled(service));
  }

  remove(serviceId: string): Promise<void> {
    return this.#inTurn(serviceId, () => this.#inner.remove(serviceId));
  }

  /**
   * Starts the engine of a service that is not running, for one user; starting or removing the service waits until it
   * is released, which stops it. Undefined when the service's engine runs already.
   */
  lend(service: Service): Promise<LentEngine | undefined> {
    const given = Promise.withResolvers<LentEngine | undefined>();
    const turn = this.#inTurn(service.id, async () => {
      if (this.#live.has(service.id)) return given.resolve(undefined);
      const engine = await this.#startFilled(service);
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
    });
    turn.catch(given.reject);
    return given.promise;
  }

  async #startFilled(service: Service): Promise<RunningEngine> {
    const fill = await this.#fillerFor(service.id);
    // It is unknown what a killed attempt has restored: every attempt starts with an empty service.
    if (fill !== undefined) await this.#inner.remove(service.id);
    const engine = await this.#startInner(service);
    try {
      await fill?.(engine);
      return engine;
    } catch (error) {
      await engine.stop();
      throw error;
    }
  }

  async #startInner(service: Service): Promise<RunningEngine> {
    const engine = await this.#inner.start(service);
    this.#live.add(service.id);
    const ended = engine.ended.then((how) => {
      this.#live.delete(service.id);
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
