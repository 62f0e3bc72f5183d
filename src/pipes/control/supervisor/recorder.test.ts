import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { noNumbers } from "../../../store/pipes/pipe-overviews.ts";
import { HistoryStore } from "../../../store/saved/history.ts";
import { pipeSeries } from "../../../store/saved/history-series.ts";
import type { PipeVitals } from "../progress/vitals.ts";
import { PipeRecorder } from "./recorder.ts";

const begin = Date.parse("2026-01-01T00:00:00Z");
const vitals = new Map<string, PipeVitals>();

let dir: string;
let history: HistoryStore<(typeof pipeSeries)[number]>;
let now: number;
let recorder: PipeRecorder;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "millrace-recorder-"));
  history = new HistoryStore(dir, pipeSeries);
  now = begin;
  vitals.clear();
  recorder = new PipeRecorder({
    history,
    ids: async () => [...vitals.keys()],
    vitals: (id) => vitals.get(id) as PipeVitals,
    now: () => now,
  });
});
afterEach(() => {
  history.close();
  rmSync(dir, { recursive: true, force: true });
});

function set(counters: Record<string, number>, more: Partial<PipeVitals> = {}): void {
  vitals.set("p", { ...noNumbers, workers: 1, gauges: {}, ...more, counters });
}

async function recordAfter(seconds: number): Promise<void> {
  now += seconds * 1000;
  await recorder.pass();
}

const read = () => history.read("p", { from: begin / 1000, step: 5, points: 6 });

test("rates are what was counted since the sample before; the first sample has none", async () => {
  set({ sentRows: 1000 }, { lag: { rows: 7 } });
  await recordAfter(0);
  set({ sentRows: 1050, sentBytes: 500, errors: 5 }, { lag: { rows: 3, seconds: 2 }, gauges: { latencyMs: 1500 } });
  await recordAfter(5);
  const { rowsPerSecond, bytesPerSecond, errorsPerSecond, lagRows, lagSeconds, lagBytes, latencySeconds } = read();
  expect(rowsPerSecond.slice(0, 2)).toEqual([null, 10]);
  expect(bytesPerSecond.slice(0, 2)).toEqual([null, 100]);
  expect(errorsPerSecond.slice(0, 2)).toEqual([null, 1]);
  expect(lagRows.slice(0, 2)).toEqual([7, 3]);
  expect(lagSeconds.slice(0, 2)).toEqual([null, 2]);
  expect(lagBytes.slice(0, 2)).toEqual([null, null]);
  expect(latencySeconds.slice(0, 2)).toEqual([null, 1.5]);
});

test("a pipe without workers leaves a gap, and what it has loaded before is not a rate of the next worker", async () => {
  set({ sentRows: 10 });
  await recordAfter(0);
  set({ sentRows: 20 });
  await recordAfter(5);
  set({ sentRows: 20 }, { workers: 0 });
  await recordAfter(5);
  set({ sentRows: 500 });
  await recordAfter(5);
  set({ sentRows: 505 });
  await recordAfter(5);
  expect(read().rowsPerSecond).toEqual([null, 2, null, null, 1, null]);
});

test("a second pass within the same five seconds records nothing, and gone pipes leave nothing", async () => {
  set({ sentRows: 10 });
  await recordAfter(0);
  set({ sentRows: 20 });
  await recordAfter(2);
  expect(readdirSync(dir)).toEqual([]);
  await recordAfter(3);
  expect(readdirSync(dir)).toEqual(["p"]);
  vitals.clear();
  await recordAfter(60);
  expect(readdirSync(dir)).toEqual([]);
});
