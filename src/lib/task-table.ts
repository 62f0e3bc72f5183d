/**
 * The actions that a reconciler runs beside its loop: at most one per key at a time, pauses after failed actions, and a
 * record of deaths. An action that throws is reported, and a later pass retries it. A death is the unexpected end of
 * something that the loop keeps running: the first is followed by an immediate start, repeated ones by growing pauses,
 * and after `maxDeaths` without a stable run the reconciler gives up.
 */
import { Backoff } from "./backoff.ts";

/** Until then the pauses grow to 16 s, half a minute in total. */
export const maxDeaths = 8;
/** A run longer than this resets the count of deaths. */
export const stableRunMs = 60_000;

const pauses = { baseMs: 500, capMs: 30_000 };
/** Longest pause where attempts cost little and never end. */
const endlessCapMs = 5_000;

type Task = {
  action: Promise<void> | undefined;
  deaths: number;
  /** The last of them that may end in giving up. */
  deathsInVain: number;
  /** When the last start succeeded. */
  startedAt: number;
  /** No start before this time: the pause after repeated deaths. */
  noStartBefore: number;
  /** No action before this time: the pause after an action failed. */
  noActionBefore: number;
  readonly deathPauses: Backoff;
  readonly failurePauses: Backoff;
};

export type TaskTableOptions = {
  /** Triggers a pass of the loop, because an action has ended. */
  readonly poke: () => void;
  /** Called with the error of an action that threw. */
  readonly onFailure: (key: string, error: unknown) => void;
  /** The clock, in ms. */
  readonly now?: (() => number) | undefined;
};

export type Death = {
  /** Deaths since the last stable run, including this one. */
  readonly count: number;
  readonly gaveUp: boolean;
  /** The reason, with the number of attempts when the last one has failed. */
  readonly message: string;
};

export class TaskTable {
  readonly #options: TaskTableOptions;
  readonly #now: () => number;
  readonly #tasks = new Map<string, Task>();
  #active = 0;
  #isClosed = false;

  constructor(options: TaskTableOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Number of keys with a running action. */
  get active(): number {
    return this.#active;
  }

  /** Number of keys with an action, a pause or a death. */
  get size(): number {
    return this.#tasks.size;
  }

  /** Keys with a running action. */
  acting(): string[] {
    return [...this.#tasks].filter(([, { action }]) => action !== undefined).map(([key]) => key);
  }

  /** False while an action of the key runs, in the pause after a failed one, and once the table is closed. */
  isFree(key: string): boolean {
    const task = this.#tasks.get(key);
    if (task === undefined) return !this.#isClosed;
    return !this.#isClosed && task.action === undefined && this.#now() >= task.noActionBefore;
  }

  /** Runs the action after earlier ones of the key. Ignored once the table is closed. */
  run(key: string, action: () => Promise<unknown>): void {
    if (this.#isClosed) return;
    const task = this.#taskOf(key);
    if (task.action === undefined) this.#active += 1;
    const mine: Promise<void> = (task.action ?? Promise.resolve())
      .then(action)
      .then(() => task.failurePauses.reset())
      .catch((error) => {
        task.noActionBefore = this.#now() + task.failurePauses.next();
        this.#options.onFailure(key, error);
      })
      .finally(() => {
        if (task.action !== mine) return;
        task.action = undefined;
        this.#active -= 1;
        this.#forgetBlank(key, task);
        this.#options.poke();
      });
    task.action = mine;
  }

  /** False in the pause after repeated deaths. */
  mayStart(key: string): boolean {
    return this.#now() >= (this.#tasks.get(key)?.noStartBefore ?? 0);
  }

  /** Records a start for the key. */
  started(key: string): void {
    const task = this.#tasks.get(key);
    if (task !== undefined) task.startedAt = this.#now();
  }

  /** Records that the key still runs; a stable run resets its deaths. */
  runs(key: string): void {
    const task = this.#tasks.get(key);
    if (task !== undefined && task.deaths > 0 && this.#now() - task.startedAt > stableRunMs) this.forgive(key);
  }

  /**
   * Counts a death. The one that gives up also resets the count: a later start request gets all attempts again. With
   * `endless` this death does not give up, the others before it no longer count, and the pause stays short.
   */
  died(key: string, reason: string, { endless = false } = {}): Death {
    const task = this.#taskOf(key);
    task.deaths += 1;
    task.deathsInVain = endless ? 0 : task.deathsInVain + 1;
    const { deaths: count, deathsInVain } = task;
    const gaveUp = deathsInVain >= maxDeaths;
    const longest = endless ? endlessCapMs : pauses.capMs;
    if (gaveUp) this.forgive(key);
    else if (count > 1) task.noStartBefore = this.#now() + Math.min(task.deathPauses.next(), longest);
    return { count, gaveUp, message: gaveUp ? `gave up after ${deathsInVain} attempts; ${reason}` : reason };
  }

  /** Resets the deaths of the key and the pause after them. */
  forgive(key: string): void {
    const task = this.#tasks.get(key);
    if (task === undefined) return;
    task.deaths = 0;
    task.deathsInVain = 0;
    task.noStartBefore = 0;
    task.deathPauses.reset();
    this.#forgetBlank(key, task);
  }

  /** Accepts no further actions; resolves when the running ones have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#tasks.values()].map((task) => task.action));
  }

  #taskOf(key: string): Task {
    let task = this.#tasks.get(key);
    if (task === undefined) {
      const [deathPauses, failurePauses] = [new Backoff(pauses), new Backoff(pauses)];
      const none = { action: undefined, deaths: 0, deathsInVain: 0, startedAt: 0, noStartBefore: 0, noActionBefore: 0 };
      task = { ...none, deathPauses, failurePauses };
      this.#tasks.set(key, task);
    }
    return task;
  }

  #forgetBlank(key: string, task: Task): void {
    if (task.action !== undefined || task.deaths > 0 || task.failurePauses.attempts > 0) return;
    if (this.#tasks.get(key) === task) this.#tasks.delete(key);
  }
}
