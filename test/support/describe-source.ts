/**
 * The connector contract as a test suite: the runner is stopped before and after every step it takes, as a crash would,
 * and started again on what was durable. At the end every record must be in the destination exactly once.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Confirmed, FrozenIntent, LedgerPort, RunnerOptions } from "../../src/pipes/runner.ts";
import { runPipe } from "../../src/pipes/runner.ts";
import type { Json, MarkReader, RejectedRecord, Source, SourceContext } from "../../src/sources/source.ts";

/** What a crash leaves behind: the store's side of a pipe. */
export class DurableLedger {
  readonly intents = new Map<string, FrozenIntent>();
  readonly checkpoints = new Map<string, Json>();
  readonly marks = new Map<string, Json>();
  readonly counts = new Map<string, number>();

  readonly markReader: MarkReader = {
    get: async (keys) =>
      new Map(keys.flatMap((key) => (this.marks.has(key) ? [[key, this.marks.get(key) as Json]] : []))),
  };

  port(step: Step): LedgerPort {
    return {
      intents: async () => structuredClone([...this.intents.values()]),
      checkpoints: async () => Object.fromEntries(this.checkpoints),
      begin: (intent) => step("begin", async () => this.#begin(intent)),
      replace: ({ batchId, intents }) =>
        step("replace", async () => {
          this.intents.delete(batchId);
          for (const intent of intents) this.#begin(intent);
        }),
      confirm: (done) => step("confirm", async () => this.#confirm(done)),
    };
  }

  #begin(intent: FrozenIntent): void {
    // What is saved is text: nothing that JSON does not hold survives.
    if (!this.intents.has(intent.batchId)) this.intents.set(intent.batchId, JSON.parse(JSON.stringify(intent)));
  }

  #confirm(done: Confirmed): void {
    const removed = this.intents.delete(done.batchId);
    if (done.begun && !removed) return;
    if (done.checkpoint !== undefined) this.checkpoints.set(done.lane, done.checkpoint);
    for (const [key, mark] of Object.entries(done.marks)) this.marks.set(key, mark);
    for (const [name, value] of Object.entries(done.counts)) {
      this.counts.set(name, (this.counts.get(name) ?? 0) + value);
    }
  }
}

type Step = <T>(name: string, work: () => Promise<T>) => Promise<T>;

class Crash extends Error {}

/** A world with a source that has an end, and a destination whose content can be looked at. */
export type World = AsyncDisposable & {
  open(context: SourceContext): Promise<Source>;
  readonly insert: RunnerOptions["insert"];
  readonly destination: SourceContext["destination"];
  readonly query: SourceContext["query"];
  readonly settings?: SourceContext["settings"];
  /** What is in the destination, to be compared with `expected`. */
  content(): Promise<unknown>;
  readonly expected: unknown;
  /** Origins in the error table that must be there, each once. */
  readonly expectedRejections?: readonly string[];
  /** Something that happens to the world between two runs, such as an edit of the mapping. */
  readonly betweenRuns?: (run: number) => Promise<void>;
};

type Crashing = { readonly at: number; readonly when: "before" | "after" };

/**
 * Runs the suite for a source. `makeWorld` is called once per crash point. Every step of the runner (begin, replace,
 * insert, reject, confirm, acknowledge) is a crash point, before it and after it.
 */
export function describeSource(name: string, makeWorld: () => Promise<World>, options: { every?: number } = {}): void {
  describe(`${name}: exactly once at every crash point`, () => {
    let steps: string[] = [];
    const worlds: World[] = [];
    beforeAll(async () => {
      const world = await makeWorld();
      worlds.push(world);
      steps = (await runWithCrashes(world, [])).steps;
    });
    afterAll(async () => {
      for (const world of worlds) await world[Symbol.asyncDispose]();
    });

    test("without a crash", () => {
      expect(steps).toContain("confirm");
    });

    test.each(["before", "after"] as const)("%s every step", async (when) => {
      for (let at = 1; at <= steps.length; at += options.every ?? 1) {
        await using world = await makeWorld();
        await runWithCrashes(world, [{ at, when }]);
      }
    });

    test("again and again: at every third step of every run", async () => {
      await using world = await makeWorld();
      await runWithCrashes(
        world,
        Array.from({ length: 6 }, () => ({ at: 3, when: "after" })),
      );
    });
  });
}

/** Runs to the end, crashing once per entry, and checks the outcome. Returns the steps of the last, complete run. */
async function runWithCrashes(world: World, crashes: readonly Crashing[]): Promise<{ steps: string[] }> {
  const ledger = new DurableLedger();
  const rejections = new Map<string, readonly RejectedRecord[]>();
  let steps: string[] = [];
  for (const [run, crashing] of [...crashes, undefined].entries()) {
    steps = [];
    const crashed = await runOnce(world, ledger, rejections, steps, crashing);
    await world.betweenRuns?.(run);
    if (!crashed && crashing !== undefined) break;
  }
  const label = `${JSON.stringify(crashes)}; last steps: ${steps.join(" ")}`;
  expect(await world.content(), label).toEqual(world.expected);
  expect([...ledger.intents.keys()], label).toEqual([]);
  const origins = [...rejections.values()].flat().map(({ origin }) => origin);
  expect(origins.sort(), label).toEqual([...(world.expectedRejections ?? [])].sort());
  return { steps };
}

async function runOnce(
  world: World,
  ledger: DurableLedger,
  rejections: Map<string, readonly RejectedRecord[]>,
  steps: string[],
  crashing: Crashing | undefined,
): Promise<boolean> {
  const abort = new AbortController();
  let crashed = false;
  const step: Step = async (name, work) => {
    // A process that is gone takes no further step.
    if (crashed) throw new Crash("already crashed");
    steps.push(name);
    const mine = steps.length === crashing?.at;
    const crash = () => {
      crashed = true;
      abort.abort(new Crash(`crash at ${name}`));
      throw new Crash(`crash at ${name}`);
    };
    if (mine && crashing.when === "before") crash();
    const result = await work();
    if (mine) crash();
    return result;
  };
  const source = await world.open({
    ...{ pipeId: "pipe", epoch: 0, settings: world.settings ?? {}, concurrency: 2, destination: world.destination },
    ...{ marks: ledger.markReader, report: () => {}, trouble: () => {}, query: world.query },
    reject: (records, token) =>
      step("reject", async () => {
        if (!rejections.has(token)) rejections.set(token, records);
      }),
  });
  const stepping: Source = {
    replay: (replay, signal) => source.replay(replay, signal),
    read: (checkpoints, signal) => source.read(checkpoints, signal),
    acknowledge: (batch) => step("acknowledge", () => source.acknowledge(batch)),
    ...(source.refused === undefined ? {} : { refused: source.refused.bind(source) }),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
  try {
    await runPipe({
      ...{ source: stepping, ledger: ledger.port(step), tokenPrefix: "pipe:0", concurrency: 2, signal: abort.signal },
      insert: (...args) => step("insert", () => world.insert(...args)),
    });
  } catch (error) {
    if (!crashed) throw error;
  } finally {
    await stepping[Symbol.asyncDispose]();
  }
  return crashed;
}
