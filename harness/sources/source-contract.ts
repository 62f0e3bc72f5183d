/**
 * The contract of connectors, as tests. The real runner runs every source against a destination that keeps rows by
 * token, as the engine does, and a ledger that survives crashes. A crash is simulated before and after every step of
 * the order; afterwards the source is opened again, as by a new worker, and the run continues.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/lib/json.ts";
import { type Confirmation, type Intent, StoredForms } from "../../src/pipes/durable.ts";
import type { OutageLimits } from "../../src/pipes/protocol.ts";
import { Health } from "../../src/pipes/worker/health.ts";
import { Runner } from "../../src/pipes/worker/runner.ts";
import type { EngineSettings } from "../../src/pipes/worker/settings.ts";
import type { DurableShapes } from "../../src/sources/contract/durable.ts";
import type { Batch, Insert, RejectedRecord, Source } from "../../src/sources/contract/source.ts";
import type { StoredIntent } from "../../src/store/pipes/ledger-writes.ts";

/**
 * What survives a worker's death, as JSON in its stored forms; the source's own upstream is the test's responsibility.
 */
export class World {
  readonly intents = new Map<string, StoredIntent>();
  readonly checkpoints = new Map<string, Json>();
  readonly marks = new Map<string, Json>();
  readonly counts: Record<string, number> = {};
  /** Counters after each step that changed them. */
  readonly counted: Readonly<Record<string, number>>[] = [];
  /** Rows by token: a repeated insert under a known token is dropped, whatever it holds. */
  readonly inserted = new Map<string, string>();
  readonly rejected = new Map<string, readonly RejectedRecord[]>();
  readonly acknowledged: string[] = [];
  /** Batches that were acknowledged before they were confirmed. */
  readonly early: string[] = [];
  /** Settings and statement of the first attempt under each token: a replay must not change them. */
  readonly attempts = new Map<string, string>();
  readonly changedAttempts: string[] = [];

  count(counts: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(counts)) this.counts[name] = (this.counts[name] ?? 0) + value;
    this.counted.push({ ...this.counts });
  }
}

class Crash extends Error {}

/** Steps of the order, and what a source does beside it: marks that it notes, and statements on tables that it owns. */
export const steps = ["begin", "insert", "reject", "confirm", "acknowledge", "note", "command"] as const;
export type ContractStep = (typeof steps)[number];
/** Runs one step, unless the worker dies before it. */
export type At = <T>(step: ContractStep, work: () => Promise<T> | T) => Promise<T>;
export type CrashPoint = { readonly step: ContractStep; readonly when: "before" | "after"; readonly nth: number };

export type ContractCase = {
  /** What the source keeps in the ledger. */
  readonly durable: DurableShapes;
  /** Opens the source as a new worker does; `world` is all that survived. Its notes and commands go through `at`. */
  open(world: World, at: At): Promise<Source>;
  /** What the rows must be in the end, in any order, one entry per row: of all inserts, or those of `tables`. */
  readonly expected: readonly string[] | (() => readonly string[]);
  /** The rows of a statement. */
  rowsOf(insert: Insert): Promise<readonly string[]>;
  /** Throws like the engine for bad data. */
  readonly engineError?: (rows: readonly string[], settings: EngineSettings) => Error | undefined;
  /** Expected number of records in the error table. */
  readonly rejected?: number;
  /** Expected number of fetched rows that are neither loaded nor refused, where the source alone determines it. */
  readonly skipped?: number;
  /** A destination of its own, for a source whose tables show something else than the sum of its inserts. */
  readonly tables?: ContractTables;
  /** Ends the upstream. */
  close?(): Promise<void>;
};

export type ContractTables = {
  insert(insert: Insert, token: string): void;
  /** What readers see, one entry per row. */
  shown(): readonly string[];
  /** Sentences about promises that were broken on the way. */
  readonly problems: readonly string[];
};

/** No life gives up by the clock: a life that waits for ever ends with the limit of its test. */
const limits: OutageLimits = {
  sourceOutageMs: Number.POSITIVE_INFINITY,
  sourceIdleTimeoutMs: 5_000,
  destinationOutageMs: Number.POSITIVE_INFINITY,
  retryBaseMs: 1,
};

/** Runs one worker. Ends when the source is exhausted or the crash point is reached. */
async function live(world: World, contract: ContractCase, crash: CrashPoint | undefined): Promise<"done" | "crashed"> {
  const stop = new AbortController();
  const seen: Partial<Record<ContractStep, number>> = {};
  let dead = false;
  const at: At = async (step, work) => {
    // A source lets go of what it has open; the order just ends.
    if (dead && (step === "note" || step === "command")) throw new Crash();
    if (dead) await new Promise(() => {});
    seen[step] = (seen[step] ?? 0) + 1;
    const due = crash !== undefined && crash.step === step && seen[step] === crash.nth;
    if (due && crash.when === "before") die();
    const result = await work();
    if (due) die();
    return result;
  };
  let report: (how: "crashed") => void = () => {};
  const crashed = new Promise<"crashed">((resolve) => {
    report = resolve;
  });
  const die = (): never => {
    dead = true;
    stop.abort();
    report("crashed");
    throw new Crash();
  };
  const source = await contract.open(world, at).catch((error: unknown) => {
    if (!dead) throw error;
  });
  if (source === undefined) return "crashed";
  const runner = new Runner(
    {
      pipeId: "pipe",
      epoch: 0,
      source: {
        replay: (replay, signal) => source.replay(replay, signal),
        read: (checkpoints, signal) => source.read(checkpoints, signal),
        refused: (batch, failure, signal) => source.refused(batch, failure, signal),
        acknowledge: (batch: Batch) =>
          at("acknowledge", async () => {
            // Upstream may forget what is acknowledged, so by then no intent may depend on it.
            if (world.intents.has(batch.id)) world.early.push(batch.id);
            await source.acknowledge(batch);
            world.acknowledged.push(batch.id);
          }),
        [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
      },
      ledger: ledgerOf(world, new StoredForms(contract.durable), at),
      destination: destinationOf(world, contract, at),
      health: new Health(limits, () => {}),
      settings: { async_insert: 0 },
      concurrency: 2,
      ownsTables: contract.tables !== undefined,
      limits,
      worker: { run: randomUUID(), index: 0 },
      isMine: () => true,
    },
    stop.signal,
  );
  const outcome = await Promise.race([runner.run().then(() => "done" as const), crashed]).catch((error: unknown) => {
    if (dead) return "crashed" as const;
    throw error;
  });
  await source[Symbol.asyncDispose]();
  return dead ? "crashed" : outcome;
}

function ledgerOf(world: World, forms: StoredForms, at: At) {
  return {
    begin: (intent: Intent) =>
      at("begin", () => void world.intents.set(intent.batchId, copy(forms.writeIntent(intent)))),
    replace: async (batchId: string, intents: readonly Intent[]) => {
      await at("begin", () => {
        world.intents.delete(batchId);
        for (const intent of intents) world.intents.set(intent.batchId, copy(forms.writeIntent(intent)));
      });
    },
    confirm: (confirmation: Confirmation) =>
      at("confirm", () => {
        const done = copy(forms.writeConfirmation(confirmation));
        world.intents.delete(done.batchId);
        if (done.checkpoint !== undefined) world.checkpoints.set(done.lane, done.checkpoint);
        for (const [key, mark] of Object.entries(done.marks)) world.marks.set(key, mark);
        world.count(done.counts);
      }),
    intents: async () => [...world.intents.values()].map((intent) => forms.readIntent(copy(intent))),
    checkpoints: async () => forms.readCheckpoints(Object.fromEntries(world.checkpoints)),
  };
}

function destinationOf(world: World, contract: ContractCase, at: At) {
  return {
    insert: async (insert: Insert, settings: EngineSettings) => {
      const rows = await contract.rowsOf(insert);
      const refusal = contract.engineError?.(rows, settings);
      if (refusal !== undefined) throw refusal;
      return await at("insert", () => {
        const { insert_deduplication_token: token, ...frozen } = settings;
        if (token === undefined) throw new Error("an insert came without a token");
        const attempt = JSON.stringify([frozen, rows]);
        const first = world.attempts.get(String(token));
        if (first !== undefined && first !== attempt) world.changedAttempts.push(String(token));
        world.attempts.set(String(token), attempt);
        contract.tables?.insert(insert, String(token));
        if (!world.inserted.has(String(token))) world.inserted.set(String(token), JSON.stringify(rows));
        // A materialized view doubles what the engine counts; only a source that cannot count relies on it.
        const writtenRows = insert.rows === undefined ? rows.length : 2 * rows.length;
        return { readRows: 0, readBytes: 0, writtenRows, writtenBytes: 0 };
      });
    },
    crashes: async () => 0,
    reject: (records: readonly RejectedRecord[], token: string) =>
      at("reject", () => void world.rejected.set(token, records)),
  };
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** Converts stored data to the form of version 0. */
function withoutVersions(world: World): void {
  const strip = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (_, member: unknown) => {
      if (typeof member === "object" && member !== null && "v" in member) delete member.v;
      return member;
    });
  for (const map of [world.intents, world.checkpoints, world.marks] as Map<string, unknown>[]) {
    for (const [key, value] of map) map.set(key, strip(value));
  }
}

/** Every fetched row is sent, refused or skipped. */
function isUnbalanced({ fetchedRows = 0, sentRows = 0, refusedRows = 0, skippedRows = 0 }: Record<string, number>) {
  return fetchedRows !== sentRows + refusedRows + skippedRows;
}

/** Hundreds of lives, on a machine that does other things too. */
const crashTimeoutMs = 300_000;

/** Lives that run at the same time: they wait for timers more than they compute, and share nothing. */
const together = 8;

/** Runs the lives that crash at the first, second, ... of a step, until one has no such step and resolves to false. */
async function forEveryNth(life: (nth: number) => Promise<boolean>): Promise<void> {
  for (let first = 1; ; first += together) {
    const crashed = await Promise.all(Array.from({ length: together }, (_, index) => life(first + index)));
    if (crashed.includes(false)) return;
  }
}

/** Throws unless what is left at the end of a life is what the contract expects. */
function check(world: World, contract: ContractCase): void {
  const { tables } = contract;
  const expected = typeof contract.expected === "function" ? contract.expected() : contract.expected;
  const inserted = [...world.inserted.values()].flatMap((text) => JSON.parse(text) as string[]);
  expect((tables?.shown() ?? inserted).toSorted()).toEqual([...expected].toSorted());
  expect(tables?.problems ?? []).toEqual([]);
  expect(world.changedAttempts).toEqual([]);
  expect(world.early).toEqual([]);
  expect(world.intents.size).toBe(0);
  expect([...world.rejected.values()].flat().length).toBe(contract.rejected ?? 0);
  if (tables === undefined) expect(world.counts.sentRows).toBe(expected.length);
  expect(world.counted.filter(isUnbalanced)).toEqual([]);
  const refused = [...world.rejected.values()].flat().reduce((sum, { rows = 1 }) => sum + rows, 0);
  expect(world.counts.refusedRows).toBe(refused);
  if (contract.skipped !== undefined) expect(world.counts.skippedRows).toBe(contract.skipped);
}

/** Declares the suite for one source. `make` returns a new case, with an upstream of its own. */
export function describeSource(name: string, make: () => ContractCase | Promise<ContractCase>): void {
  /** One world from its beginning; `work` resolves to false when the step it was to crash at never came. */
  const inWorld = async (work: (world: World, contract: ContractCase) => Promise<boolean>): Promise<boolean> => {
    const contract = await make();
    try {
      return await work(new World(), contract);
    } finally {
      await contract.close?.();
    }
  };
  describe(`source contract: ${name}`, { timeout: crashTimeoutMs }, () => {
    test("without a crash every row is inserted once and every batch acknowledged", async () => {
      await inWorld(async (world, contract) => {
        expect(await live(world, contract, undefined)).toBe("done");
        check(world, contract);
        expect(world.acknowledged.length).toBeGreaterThan(0);
        // A second run finds nothing new.
        expect(await live(world, contract, undefined)).toBe("done");
        check(world, contract);
        return true;
      });
    });

    test("what was stored before it had versions goes on from any insert, without loss or double", async () => {
      await forEveryNth((nth) =>
        inWorld(async (world, contract) => {
          if ((await live(world, contract, { step: "insert", when: "after", nth })) === "done") return false;
          withoutVersions(world);
          expect(await live(world, contract, undefined)).toBe("done");
          check(world, contract);
          return true;
        }),
      );
    });

    for (const step of steps) {
      for (const when of ["before", "after"] as const) {
        test(`a crash ${when} every ${step} leaves each row exactly once`, async () => {
          await forEveryNth((nth) =>
            inWorld(async (world, contract) => {
              if ((await live(world, contract, { step, when, nth })) === "done") return false;
              // The next worker crashes at the same point in its replay, the third one ends.
              await live(world, contract, { step, when, nth: 1 });
              expect(await live(world, contract, undefined)).toBe("done");
              check(world, contract);
              return true;
            }),
          );
        });
      }
    }
  });
}
