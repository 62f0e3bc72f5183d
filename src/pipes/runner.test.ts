/** The insert order with a small source in memory and a destination that knows tokens, as the engine does. */
import { describe, expect, test } from "vitest";
import { DurableLedger, describeSource, type World } from "../../test/support/describe-source.ts";
import type { Batch, Json, JsonObject, Source, SourceContext } from "../sources/source.ts";
import { RefusedInsert, type RunnerOptions, runPipe } from "./runner.ts";

const destination = { database: "default", table: "t", columns: [] };

/** Numbers 0..n-1 in one lane by offset; a batch with a bad number is refused, halved, and in the end recorded. */
class Numbers implements Source {
  readonly #context: SourceContext;
  readonly #count: number;
  readonly #bad: ReadonlySet<number>;

  constructor(context: SourceContext, count: number, bad: ReadonlySet<number>) {
    this.#context = context;
    this.#count = count;
    this.#bad = bad;
  }

  async replay(replay: JsonObject): Promise<Batch> {
    return this.#batch(Number(replay.from), Number(replay.to));
  }

  async *read(checkpoints: ReadonlyMap<string, Json>): AsyncGenerator<Batch> {
    for (let from = Number(checkpoints.get("numbers") ?? 0); from < this.#count; from += 4) {
      yield this.#batch(from, Math.min(this.#count, from + 4));
    }
  }

  async acknowledge(): Promise<void> {}

  async refused(batch: Batch): Promise<readonly Batch[]> {
    const [from, to] = [Number(batch.replay.from), Number(batch.replay.to)];
    const middle = (from + to) >> 1;
    if (to - from > 1) return [this.#batch(from, middle), this.#batch(middle, to)];
    await this.#context.reject([{ origin: String(from), message: "bad" }], batch.id);
    return [{ ...batch, inserts: [], counts: { errors: 1 } }];
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #batch(from: number, to: number): Batch {
    const rows = Array.from({ length: to - from }, (_, index) => from + index);
    const sql = rows.map((row) => (this.#bad.has(row) ? `bad ${row}` : row)).join(",");
    return {
      ...{ lane: "numbers", id: `${from}-${to}`, replay: { from, to }, checkpoint: to, settings: {} },
      inserts: [{ database: "default", table: "t", sql }],
    };
  }
}

/** Takes every token once, and refuses bad rows before it writes anything. */
function memoryTable(): { rows: string[]; insert: RunnerOptions["insert"] } {
  const rows: string[] = [];
  const tokens = new Set<string>();
  const insert: RunnerOptions["insert"] = async ({ sql }, token) => {
    if (sql.includes("bad")) throw new RefusedInsert({ code: 27, message: "bad row" });
    if (!tokens.has(token)) rows.push(...sql.split(","));
    tokens.add(token);
    return { rows: sql.split(",").length, bytes: 0 };
  };
  return { rows, insert };
}

async function makeWorld(): Promise<World> {
  const { rows, insert } = memoryTable();
  const bad = new Set([2, 9]);
  return {
    open: async (context) => new Numbers(context, 11, bad),
    ...{ insert, destination, query: async () => [] },
    content: async () => [...rows].sort((a, b) => Number(a) - Number(b)),
    expected: ["0", "1", "3", "4", "5", "6", "7", "8", "10"],
    expectedRejections: ["2", "9"],
    [Symbol.asyncDispose]: async () => {},
  };
}

describeSource("a source in memory", makeWorld);

describe("the insert order", () => {
  test("a batch that is retried for long is not overtaken by so many others that its token is forgotten", async () => {
    let others = 0;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const source: Source = {
      replay: async () => {
        throw new Error("nothing to replay");
      },
      read: async function* () {
        for (let index = 0; index < 3000; index += 1) yield batch(index);
      },
      acknowledge: async () => {},
      [Symbol.asyncDispose]: async () => {},
    };
    const running = runPipe({
      ...{ source, ledger: new DurableLedger().port((_name, work) => work()), tokenPrefix: "p", concurrency: 2 },
      signal: new AbortController().signal,
      insert: async ({ sql }) => {
        if (sql === "0") await held;
        else others += 1;
        return { rows: 1, bytes: 1 };
      },
    });
    await expect.poll(() => others).toBeGreaterThan(900);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(others).toBeLessThan(1100);
    release();
    await running;
    expect(others).toBe(2999);
  });

  test("a decision about a refused batch is durable before any of it is delivered", async () => {
    const ledger = new DurableLedger();
    const seen: string[][] = [];
    const world = await makeWorld();
    await runPipe({
      source: new Numbers({ reject: async () => {} } as unknown as SourceContext, 4, new Set([2])),
      ledger: ledger.port((_name, work) => work()),
      ...{ tokenPrefix: "p", concurrency: 1, signal: new AbortController().signal },
      insert: async (...args) => {
        seen.push([...ledger.intents.keys()]);
        return await world.insert(...args);
      },
    });
    expect(seen).toEqual([["0-4"], ["0-2", "2-4"], ["2-4"], ["2-3", "3-4"], ["3-4"]]);
    expect(ledger.counts.get("sentRows")).toBe(3);
  });
});

function batch(index: number): Batch {
  const id = String(index);
  return {
    ...{ lane: id, id, replay: {}, checkpoint: undefined, settings: {} },
    inserts: [{ database: "d", table: "t", sql: id }],
  };
}
