import { expect, test } from "vitest";
import { ClickHouseError } from "../../clickhouse/client.ts";
import { InsertQuorum } from "./quorum.ts";

const waited = new ClickHouseError(319, 500, "Code: 319. Unknown quorum status. Timeout while waiting for quorum.");
const tooFew = new ClickHouseError(
  285,
  500,
  "Code: 285. Number of alive replicas (1) is less than requested quorum (2/2).",
);
const withoutKeeper = new ClickHouseError(319, 500, "Code: 319. Unknown status of part, connection loss of Keeper");

test("inserts wait for most replicas, and for none for a minute after too few answered", () => {
  for (const error of [waited, tooFew]) {
    let now = 0;
    const quorum = new InsertQuorum(() => now);
    expect(quorum.settings()).toEqual({ insert_quorum: "auto", insert_quorum_timeout: 20_000 });
    quorum.failed(error);
    expect([quorum.settings(), quorum.isResting]).toEqual([{}, true]);
    now = 60_000;
    expect([quorum.settings().insert_quorum, quorum.isResting]).toEqual(["auto", false]);
  }
});

test("what says nothing about replicas changes nothing", () => {
  const quorum = new InsertQuorum(() => 0);
  for (const error of [withoutKeeper, new Error("connection refused")]) quorum.failed(error);
  expect(quorum.settings().insert_quorum).toBe("auto");
});
