/** Which servers of an installation can be expected to answer: those that run, and reach their metadata. */

/** A server makes its connections again in this time. */
const graceMs = 5_000;

export class Availability {
  readonly #faults = new Map<number, number>();
  /** When the last fault of a server ended, in ms of the own clock. */
  readonly #since = new Map<number, number>();
  readonly #servers: readonly number[];

  constructor(servers: number) {
    this.#servers = Array.from({ length: servers }, (_, at) => at);
  }

  /** The server has a fault until the returned function is called; without a number, all have it. */
  lose(server?: number): () => void {
    const lost = server === undefined ? this.#servers : [server];
    for (const one of lost) this.#count(one, 1);
    return () => {
      for (const one of lost) this.#count(one, -1);
    };
  }

  hasFault(server: number): boolean {
    return (this.#faults.get(server) ?? 0) > 0;
  }

  /** The servers without a fault, with the time since when: equal at two times if there was none in between. */
  survivors(): ReadonlyMap<number, number> {
    const now = performance.now();
    const sound = this.#servers.filter((one) => !this.hasFault(one));
    const times = sound.map((one) => [one, this.#since.get(one) ?? 0] as const);
    return new Map(times.filter(([, since]) => since <= now));
  }

  #count(server: number, by: number): void {
    this.#faults.set(server, (this.#faults.get(server) ?? 0) + by);
    this.#since.set(server, performance.now() + graceMs);
  }
}
