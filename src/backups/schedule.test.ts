import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Backup } from "../store/backups/backups.ts";
import { retentionVerdicts } from "./retention.ts";
import { backupName, chooseBase, nextDueAt } from "./schedule.ts";

const hourMs = 3_600_000;
const start = Date.parse("2026-01-01T00:00:00Z");
const at = (hours: number) => new Date(start + hours * hourMs).toISOString();
const here = { kind: "local", root: "/here" } as const;
const none = { periodHours: null, retentionHours: null, startTime: null };

function row(id: string, hours: number, change: Partial<Backup> = {}): Backup {
  return {
    ...{ id, organizationId: "o", serviceId: "s", serviceName: "s", name: id, trigger: "schedule", status: "done" },
    ...{ type: "full", baseId: null, location: here, encrypted: false, startedAt: at(hours), finishedAt: at(hours) },
    ...{ sizeBytes: 1, totalBytes: 1, error: null, verification: "passed", verifiedAt: null },
    ...{ deepVerifiedAt: null, problems: [], checkWanted: null },
    ...change,
  };
}

describe("the next scheduled backup", () => {
  const due = (rows: Backup[], configuration: object = {}) =>
    new Date(nextDueAt(rows, { ...none, ...configuration }, at(0), { now: start, hourMs })).toISOString();

  test("is due a period after the service was made, and then a period after the last one began", () => {
    expect(due([])).toBe(at(24));
    expect(due([], { periodHours: 6 })).toBe(at(6));
    expect(due([row("a", 30), row("b", 10)])).toBe(at(54));
  });

  test("is due at the next start time in UTC, once a day", () => {
    expect(due([], { startTime: "03:30" })).toBe(at(3.5));
    expect(due([row("a", 3.5)], { startTime: "03:30" })).toBe(at(27.5));
    // Missed for two days, it is due once and immediately: the time lies in the past.
    expect(due([row("a", 3.6)], { startTime: "03:30" })).toBe(at(27.5));
  });

  test("backups on demand do not move the schedule", () => {
    expect(due([row("a", 0), row("b", 20, { trigger: "request" })])).toBe(at(24));
  });

  test("failures are followed by pauses of 5, 10, 20 ... minutes, at most an hour", () => {
    const failed = (count: number) =>
      [row("ok", 0)].concat(Array.from({ length: count }, (_, i) => row(`f${i}`, 30 + i, { status: "error" })));
    expect(due(failed(1))).toBe(at(30 + 5 / 60));
    expect(due(failed(2))).toBe(at(31 + 10 / 60));
    expect(due(failed(9))).toBe(at(39));
  });
});

describe("the base of the next backup", () => {
  const base = (rows: Backup[], change: object = {}) =>
    chooseBase(rows, { location: here, encrypted: false, maxChain: 3, ...change })?.id;
  const chain = [row("a", 1), row("b", 2, { baseId: "a" }), row("c", 3, { baseId: "b" })];

  test("is the newest backup until the chain is full", () => {
    expect(base([])).toBeUndefined();
    expect(base(chain.slice(0, 2))).toBe("b");
    expect(base(chain)).toBeUndefined();
    expect(base(chain, { maxChain: 4 })).toBe("c");
    expect(base(chain.slice(0, 1), { maxChain: 1 })).toBeUndefined();
  });

  test.each([
    ["a damaged base", [row("a", 1, { verification: "failed" }), chain[1] as Backup], {}],
    ["an unchecked one", [row("a", 1, { verification: "pending" })], {}],
    ["another location", chain.slice(0, 1), { location: { kind: "local", root: "/there" } }],
    ["another form", chain.slice(0, 1), { encrypted: true }],
    ["a base that is gone", chain.slice(1, 2), {}],
  ])("is not built upon %s", (_, rows, change) => {
    expect(base(rows, change)).toBeUndefined();
  });
});

describe("retention", () => {
  const options = { retentionMs: 24 * hourMs, serviceExists: true, now: start + 100 * hourMs };
  const removed = (rows: Backup[], change: object = {}) =>
    retentionVerdicts(rows, { ...options, ...change })
      .filter((verdict) => !verdict.keep)
      .map((verdict) => verdict.row.id);

  test("keeps a chain until its last member is past the retention, then drops it, youngest first", () => {
    const chain = [row("a", 1), row("b", 60, { baseId: "a" }), row("c", 80, { baseId: "b" })];
    expect(removed(chain)).toEqual([]);
    expect(removed([...chain, row("z", 99)], { now: start + 120 * hourMs })).toEqual(["c", "b", "a"]);
  });

  test("keeps the newest backup that can be restored, however old, until the service is gone", () => {
    const rows = [
      row("a", 1),
      row("b", 2),
      row("bad", 3, { verification: "failed" }),
      row("e", 4, { status: "error" }),
    ];
    expect(removed(rows)).toEqual(["e", "bad", "a"]);
    expect(removed(rows, { serviceExists: false })).toEqual(["e", "bad", "b", "a"]);
  });

  test("for any history: what is kept has its whole chain, and every prefix of the removals leaves no orphan", () => {
    const history = fc.array(
      fc.record({
        age: fc.integer({ min: 0, max: 200 }),
        builds: fc.boolean(),
        status: fc.constantFrom("done", "error", "in_progress", "deleting") as fc.Arbitrary<Backup["status"]>,
        damaged: fc.boolean(),
      }),
      { maxLength: 15 },
    );
    fc.assert(
      fc.property(history, fc.boolean(), (events, serviceExists) => {
        const sorted = events.toSorted((a, b) => b.age - a.age);
        const rows: Backup[] = [];
        for (const [i, event] of sorted.entries()) {
          const done = rows.findLast((candidate) => candidate.status === "done");
          rows.push(
            row(`r${String(i).padStart(3, "0")}`, 200 - event.age, {
              status: event.status,
              baseId: event.builds && event.status !== "deleting" ? (done?.id ?? null) : null,
              verification: event.damaged ? "failed" : "passed",
            }),
          );
        }
        const left = new Map(rows.map((candidate) => [candidate.id, candidate]));
        const orphans = () =>
          [...left.values()].filter((candidate) => candidate.baseId !== null && !left.has(candidate.baseId));
        for (const id of removed(rows, { serviceExists, now: start + 200 * hourMs })) {
          left.delete(id);
          expect(orphans()).toEqual([]);
        }
      }),
    );
  });
});

test("names of backups sort by time and tell each other apart", () => {
  const name = backupName("2026-11-21T09:52:00.123Z", "1a2b3c4d-0000-4000-8000-000000000000");
  expect(name).toBe("20261121T095200Z-1a2b3c4d");
});
