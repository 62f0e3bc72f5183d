/** Whether a pipe may go on, from what a server says of itself and of the slot. */
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { keptMarks, testContext } from "../../../../harness/sources/source-context.ts";
import type { Json } from "../../../lib/json.ts";
import { type PostgresDurable, postgresShapes } from "../declaration/durable.ts";
import { ResumeCheck } from "./resume-check.ts";

type Server = {
  readonly system?: string;
  readonly history?: string;
  readonly timeline?: number;
  readonly confirmed?: string | null;
  readonly isStandby?: boolean;
  readonly walStatus?: string;
  readonly reason?: string;
};

/** A connection to a server that answers the three questions which are asked of it. */
function clientOf(server: Server): pg.Client {
  const { system = "1", timeline = 1, confirmed = "0/100", isStandby = false, walStatus = "reserved" } = server;
  const query = async (sql: string) => {
    if (sql === "IDENTIFY_SYSTEM") return { rows: [{ systemid: system, timeline }] };
    if (sql.startsWith("TIMELINE_HISTORY")) return { rows: [{ content: server.history ?? "" }] };
    const slot = { confirmed, walStatus, reason: server.reason ?? null, conflicting: null };
    return { rows: [{ isStandby, ...slot }] };
  };
  return { query } as unknown as pg.Client;
}

function resumeCheck(marks = new Map<string, Json>()) {
  const context = testContext<PostgresDurable>({ ledger: keptMarks<PostgresDurable>(postgresShapes, marks) });
  const made = new ResumeCheck(context, "slot");
  return { marks, made, check: (server: Server, reached = 0n) => made.check(clientOf(server), reached) };
}

const lost = (message: RegExp) =>
  expect.objectContaining({ code: "SOURCE_LOST", message: expect.stringMatching(message) });
const promotedAt = (end: string) => ({ timeline: 2, history: `1\t${end}\tno recovery target specified\n` });

describe("a pipe goes on", () => {
  test("where its slot is, and knows the server and the position from then on", async () => {
    const { marks, check } = resumeCheck();
    expect(await check({})).toBe(0x100n);
    expect(Object.fromEntries(marks)).toMatchObject({
      lineage: { system: "1", timelines: [{ id: 1 }] },
      confirmed: "0/100",
    });
    await expect(check({ system: "2" })).rejects.toEqual(lost(/another Postgres cluster/));
    expect(marks.get("lost")).toBe(true);
    await check({});
    expect(marks.get("lost")).toBe(false);
  });

  test("with a slot that is behind what was confirmed: the server may have lost the last word", async () => {
    const { made, check } = resumeCheck();
    await check({});
    await made.confirms(0x300n, 0);
    expect(await check({ confirmed: "0/100" })).toBe(0x100n);
    expect(await check({ confirmed: "0/300" })).toBe(0x300n);
  });

  test("on a promoted standby that has all that was loaded", async () => {
    const { marks, check } = resumeCheck();
    await check({});
    expect(await check(promotedAt("0/500"), 0x4ffn)).toBe(0x100n);
    expect(marks.get("lineage")).toMatchObject({ system: "1", timelines: [{ id: 1, end: "0/500" }, { id: 2 }] });
  });

  test("after the snapshot of a standby that was promoted just there", async () => {
    const { made, check } = resumeCheck();
    await check({});
    await made.copies("0/500");
    expect(await check(promotedAt("0/500"))).toBe(0x100n);
  });
});

describe("a pipe does not go on", () => {
  test("with a slot that is further than it has confirmed: changes between the two were never sent to it", async () => {
    const { made, check } = resumeCheck();
    await check({});
    await made.confirms(0x300n, 0);
    await expect(check({ confirmed: "0/301" })).rejects.toEqual(
      lost(/is at 0\/301, and the pipe has confirmed 0\/300/),
    );
  });

  test("without its slot, nor with one that has lost its log", async () => {
    const { check } = resumeCheck();
    await check({});
    await expect(check({ confirmed: null })).rejects.toEqual(lost(/does not exist any more/));
    await expect(check({ walStatus: "lost" })).rejects.toEqual(lost(/lost log that it still needed/));
    await expect(check({ reason: "idle_timeout" })).rejects.toEqual(lost(/nothing used it/));
    await expect(check({ ...promotedAt("0/500"), confirmed: null })).rejects.toEqual(lost(/promoted to timeline 2/));
  });

  test("on a promoted standby that lacks a transaction that was loaded or copied", async () => {
    const { made, check } = resumeCheck();
    await check({});
    await expect(check(promotedAt("0/500"), 0x500n)).rejects.toEqual(lost(/left the history of timeline 1 at 0\/500/));
    await made.copies("0/501");
    await expect(check(promotedAt("0/500"))).rejects.toEqual(lost(/loaded transactions up to 0\/500/));
  });

  test("on a standby: it waits, and forgets nothing", async () => {
    const { marks, check } = resumeCheck();
    await check({});
    const before = Object.fromEntries(marks);
    await expect(check({ isStandby: true, system: "2", confirmed: null })).rejects.toMatchObject({
      code: "SOURCE_UNREACHABLE",
    });
    expect(Object.fromEntries(marks)).toEqual(before);
  });
});

test("a refused server leaves no trace but that it was refused: the one before it is still the pipe's own", async () => {
  const { marks, check } = resumeCheck();
  await check({});
  const before = Object.fromEntries(marks);
  await expect(check({ system: "2" })).rejects.toThrow();
  await expect(check({ ...promotedAt("0/10"), confirmed: "0/1" }, 0x50n)).rejects.toThrow();
  expect(Object.fromEntries(marks)).toEqual({ ...before, lost: true });
});
