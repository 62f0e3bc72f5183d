import { expect, test } from "vitest";
import { chainsOf, firstBackupAt, problemOf, proofOf } from "./backup.ts";
import { storedOf } from "./list-search.ts";

const backup = (day: number, type: "full" | "incremental", status: "done" | "error" | "in_progress" = "done") => ({
  day,
  type,
  status,
  startedAt: `2026-11-0${day}T00:00:00Z`,
});

test("a chain begins with a full backup; failed attempts belong to none; the newest chain is first", () => {
  const backups = [
    backup(5, "incremental"),
    backup(4, "full"),
    backup(3, "incremental", "error"),
    backup(2, "incremental"),
    backup(1, "full"),
  ];
  expect(chainsOf(backups).map((chain) => chain.map(({ day }) => day))).toEqual([
    [4, 5],
    [1, 2],
  ]);
});

test("only a backup that was read back counts as verified", () => {
  expect(proofOf({ status: "done", verification: "passed" }).word).toBe("Verified");
  expect(proofOf({ status: "done", verification: "pending" }).word).toBe("Not verified");
  expect(proofOf({ status: "done", verification: "failed" }).word).toBe("Damaged");
  expect(proofOf({ status: "error", verification: "passed" }).word).toBe("Failed");
  expect(proofOf({ status: "in_progress", verification: "passed" }).word).toBe("In progress");
});

test("a problem is told apart in file and finding; other sentences stay whole", () => {
  const finding = "has other bytes than were stored (checksum)";
  expect(problemOf(`services/a/files/data.bin ${finding}`)).toEqual({
    file: "services/a/files/data.bin",
    sentence: finding,
  });
  expect(problemOf("the trial restore failed: no space left")).toEqual({
    file: undefined,
    sentence: "the trial restore failed: no space left",
  });
});

test("the first backup begins one period after the service was created, or at the time of the day", () => {
  const created = "2026-11-01T12:00:00Z";
  const schedule = { backupPeriodInHours: 6, backupRetentionPeriodInHours: 24 };
  expect(firstBackupAt(created, { ...schedule, backupStartTime: null })).toBe(Date.parse("2026-11-01T18:00:00Z"));
  expect(firstBackupAt(created, { ...schedule, backupStartTime: "03:30" })).toBe(Date.parse("2026-11-02T03:30:00Z"));
  expect(firstBackupAt(created, { ...schedule, backupStartTime: "13:00" })).toBe(Date.parse("2026-11-01T13:00:00Z"));
});

test("only what is done counts as stored", () => {
  const backups = (["done", "in_progress", "error", "done"] as const).map((status) => ({ status, sizeInBytes: 5 }));
  expect(storedOf(backups)).toEqual({ count: 2, bytes: 10 });
});
