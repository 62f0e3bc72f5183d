import { describe, expect, test } from "vitest";
import { noNumbers, type PipeNumbers } from "../../../store/pipes/pipe-overviews.ts";
import { gaugesOfAll } from "./gauges.ts";
import { lagOf, trendOf } from "./lag.ts";
import { Vitals } from "./vitals.ts";

function start() {
  const state = {
    now: 0,
    written: 0,
    reads: 0,
    numbers: new Map<string, PipeNumbers>(),
    measured: new Map<string, { workers: number; gauges: Record<string, number> }>(),
  };
  const vitals = new Vitals({
    numbers: async () => {
      state.reads += 1;
      return new Map(state.numbers);
    },
    numbersRevision: () => state.written,
    measured: () => state.measured,
    now: () => state.now,
  });
  const load = (id: string, sentRows: number) => {
    state.numbers.set(id, { ...noNumbers, counters: { sentRows, sentBytes: sentRows * 10 } });
    state.written += 1;
  };
  const sampleAfter = async (seconds: number) => {
    state.now += seconds * 1000;
    await vitals.pass();
  };
  return { state, vitals, load, sampleAfter };
}

describe("rates", () => {
  test("are means over ten seconds of what has become durable", async () => {
    const { state, vitals, load, sampleAfter } = start();
    state.measured.set("p", { workers: 1, gauges: {} });
    load("p", 100);
    await sampleAfter(2);
    expect(vitals.of("p").rates).toBeUndefined();
    for (let i = 1; i <= 10; i += 1) {
      load("p", 100 + i * 50);
      await sampleAfter(2);
    }
    expect(vitals.of("p").rates).toEqual({ rowsPerSecond: 25, bytesPerSecond: 250 });
    await sampleAfter(10);
    await sampleAfter(2);
    expect(vitals.of("p").rates).toEqual({ rowsPerSecond: 0, bytesPerSecond: 0 });
  });

  test("are unknown without workers, and begin anew with new ones", async () => {
    const { state, vitals, load, sampleAfter } = start();
    load("p", 100);
    await sampleAfter(2);
    await sampleAfter(2);
    expect(vitals.of("p")).toMatchObject({ counters: { sentRows: 100 }, workers: 0 });
    expect(vitals.of("p")).not.toHaveProperty("rates");
    state.measured.set("p", { workers: 1, gauges: {} });
    await sampleAfter(2);
    expect(vitals.of("p")).not.toHaveProperty("rates");
  });
});

describe("the revision", () => {
  test("stands still while nothing changes, and the store is not read again", async () => {
    const { state, vitals, load, sampleAfter } = start();
    state.measured.set("p", { workers: 1, gauges: { lagMessages: 5, other: 1 } });
    load("p", 1);
    for (let i = 0; i < 20; i += 1) await sampleAfter(2);
    const before = [vitals.revision(), state.reads];
    state.measured.set("p", { workers: 1, gauges: { lagMessages: 5, other: 2 } });
    await sampleAfter(2);
    expect([vitals.revision(), state.reads]).toEqual(before);
  });

  test("rises with a batch, with a gauge that lists show, and with a worker", async () => {
    const { state, vitals, load, sampleAfter } = start();
    const changes = [
      () => load("p", 1),
      () => state.measured.set("p", { workers: 1, gauges: {} }),
      () => state.measured.set("p", { workers: 1, gauges: { lagMessages: 5 } }),
      () => state.measured.delete("p"),
    ];
    for (const change of changes) {
      for (let i = 0; i < 20; i += 1) await sampleAfter(2);
      const before = vitals.revision();
      change();
      await sampleAfter(2);
      expect(vitals.revision()).toBeGreaterThan(before);
    }
  });
});

describe("lag", () => {
  test("has the same words for every kind; what a kind does not know is absent", () => {
    expect(lagOf({ lagMessages: 7, "lagMessages:0": 7, "lagSeconds:0": 3, "lagSeconds:1": 9 })).toEqual({
      rows: 7,
      seconds: 9,
    });
    expect(lagOf({ filesPending: 2, bytesPending: 40, lagSeconds: 1 })).toEqual({ files: 2, bytes: 40, seconds: 1 });
    expect(lagOf({ "millisBehindLatest:a": 1_000, "millisBehindLatest:b": 61_000 })).toEqual({ seconds: 61 });
    expect(lagOf({ lagBytes: 5, lagSeconds: 0.2 })).toEqual({ bytes: 5, seconds: 0 });
    expect(lagOf({ latencyMs: 4 })).toEqual({});
  });

  test("grows, stands or shrinks; an end is foreseen only while it shrinks", () => {
    expect(trendOf({ rows: 100 }, { rows: 200 }, 10)).toEqual({ trend: "growing" });
    expect(trendOf({ rows: 100 }, { rows: 103 }, 10)).toEqual({ trend: "steady" });
    expect(trendOf({ rows: 100, seconds: 9 }, { rows: 50, seconds: 9 }, 10)).toEqual({
      trend: "shrinking",
      etaSeconds: 10,
    });
    expect(trendOf({ rows: 100 }, { rows: 0 }, 10)).toEqual({ trend: "shrinking", etaSeconds: 0 });
    expect(trendOf({ rows: 100 }, { seconds: 1 }, 10)).toEqual({});
  });

  test("its trend is known after ten seconds; the copy of a database says itself when it ends", async () => {
    const { state, vitals, sampleAfter } = start();
    const measure = (gauges: Record<string, number>) => state.measured.set("p", { workers: 1, gauges });
    measure({});
    await sampleAfter(2);
    expect(vitals.of("p")).not.toHaveProperty("lag");
    measure({ lagMessages: 1000 });
    await sampleAfter(2);
    expect(vitals.of("p").lag).toEqual({ rows: 1000 });
    for (const lagMessages of [900, 800, 700, 600, 500]) {
      measure({ lagMessages });
      await sampleAfter(2);
    }
    expect(vitals.of("p").lag).toEqual({ rows: 500, trend: "shrinking", etaSeconds: 10 });
    measure({ lagMessages: 500, snapshotSecondsLeft: 33.2 });
    await sampleAfter(2);
    expect(vitals.of("p").lag?.etaSeconds).toBe(33);
  });

  test("of several workers: amounts are summed, of ages the largest counts", () => {
    const workers = [
      { lagMessages: 3, latencyMs: 10, lagSeconds: 5 },
      { lagMessages: 4, latencyMs: 30, lagSeconds: 2 },
    ];
    expect(gaugesOfAll(workers)).toEqual({ lagMessages: 7, latencyMs: 30, lagSeconds: 5 });
  });
});
