/** Counts equal events and delivers them together, so that recording one costs a lookup, however often it happens. */

export type CountedEvent<Event> = {
  readonly event: Event;
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
};

/** Maximum number of different events between two flushes; further ones are counted as the result of `overflow`. */
const mostEvents = 500;

export class EventCounter<Event extends object> {
  readonly #flush: (events: CountedEvent<Event>[]) => void;
  readonly #overflow: (event: Event) => Event;
  readonly #everyMs: number;
  #pending = new Map<string, { event: Event; count: number; firstAt: number; lastAt: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: {
    flush: (events: CountedEvent<Event>[]) => void;
    /** Returns an event that represents many different ones. */
    overflow: (event: Event) => Event;
    everyMs?: number;
  }) {
    this.#flush = options.flush;
    this.#overflow = options.overflow;
    this.#everyMs = options.everyMs ?? 1_000;
  }

  /** Counts one event. It is delivered within a second. */
  note(event: Event): void {
    const now = Date.now();
    this.add({ event, count: 1, firstAt: now, lastAt: now });
  }

  /** Adds a count from elsewhere. */
  add({ event, count, firstAt, lastAt }: CountedEvent<Event>): void {
    let key = JSON.stringify(event);
    let kept = event;
    if (this.#pending.size >= mostEvents && !this.#pending.has(key)) {
      kept = this.#overflow(event);
      key = JSON.stringify(kept);
    }
    const known = this.#pending.get(key);
    if (known === undefined) this.#pending.set(key, { event: kept, count, firstAt, lastAt });
    else {
      known.count += count;
      known.firstAt = Math.min(known.firstAt, firstAt);
      known.lastAt = Math.max(known.lastAt, lastAt);
    }
    this.#timer ??= setTimeout(() => this.flush(), this.#everyMs).unref();
  }

  /** Delivers all counts now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const events = [...this.#pending.values()];
    this.#pending = new Map();
    if (events.length > 0) this.#flush(events);
  }
}
