/** Whose connection to a slot is ended: that of an earlier process of the same pipe, and no other one. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { postgresMissing, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import { until } from "../../../../harness/serve.ts";
import { AppError } from "../../../lib/errors.ts";
import type { SourceServer } from "../declaration/kind.ts";
import { copyOut } from "./connection.ts";
import { login } from "./login.ts";
import { endEarlierReader, isEarlier, readerName } from "./slot-reader.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.log(`skipped: ${missing}`);
const slot = "kept";

test("a connection is an earlier one by its pipe and a lower fence alone", () => {
  const reader = { pipeId: "a-1", fence: 10 };
  expect(isEarlier(readerName({ pipeId: "a-1", fence: 9 }), reader)).toBe(true);
  for (const name of ["millrace a-1 10", "millrace a-1 11", "millrace a-2 9", "millrace", "other a-1 9", "", null]) {
    expect(isEarlier(name, reader), String(name)).toBe(false);
  }
  const longest = readerName({ pipeId: crypto.randomUUID(), fence: 999_999_999 });
  expect(longest.length).toBeLessThan(63);
});

describe.skipIf(missing !== undefined)("a slot that is read", () => {
  let postgres: TestPostgres;
  const requireHeld = vi.fn(async () => {});
  const reader = { pipeId: "p", fence: 2, warn: () => {}, requireHeld };

  beforeAll(async () => {
    postgres = await TestPostgres.start();
    await postgres.sql(`SELECT pg_create_logical_replication_slot('${slot}', 'pgoutput');
      CREATE PUBLICATION every FOR ALL TABLES;
      CREATE ROLE plain LOGIN REPLICATION PASSWORD 'x';
      CREATE ROLE watching LOGIN PASSWORD 'x'; GRANT pg_monitor TO watching`);
  });
  afterAll(() => postgres[Symbol.asyncDispose]());
  beforeEach(() => vi.clearAllMocks());

  function serverOf(username = postgres.user, password = postgres.password): SourceServer {
    const { host, port, database } = postgres;
    const credentials = { username, password };
    return { network: anyNetwork, config: { host, port, database, disableTls: true, credentials, tableMappings: [] } };
  }

  const isRead = async () =>
    (await postgres.sql(`SELECT active FROM pg_replication_slots WHERE slot_name = '${slot}'`))[0]?.active === true;

  /** Reads the slot on a connection of this name, until it is ended. */
  async function reading(name: string, server = serverOf()) {
    const client = await login(server, { replication: true, name });
    const options = `proto_version '1', publication_names 'every'`;
    const over = copyOut(client, `START_REPLICATION SLOT ${slot} LOGICAL 0/0 (${options})`, () => {}).catch(() => {});
    await until("it is read", isRead);
    return {
      over,
      [Symbol.asyncDispose]: async () => {
        await client.end();
        await until("it is free", async () => !(await isRead()));
      },
    };
  }

  test("is taken from an earlier process of the pipe, also by a user without special rights", async () => {
    for (const server of [serverOf(), serverOf("plain", "x")]) {
      await using earlier = await reading("millrace p 1", server);
      expect(await endEarlierReader(server, slot, reader)).toBeUndefined();
      await earlier.over;
    }
  });

  test.each(["psql", "millrace other 1", "millrace p 2", "millrace p 3"])(
    "is left to %s, which is named",
    async (name) => {
      await using _present = await reading(name);
      expect(await endEarlierReader(serverOf(), slot, reader)).toMatch(
        new RegExp(
          `slot "kept" is read by another connection \\(process \\d+ of user "postgres", application_name "${name}"`,
        ),
      );
      expect(await isRead()).toBe(true);
      expect(await isRead()).toBe(true);
      expect(requireHeld).not.toHaveBeenCalled();
    },
  );

  test("is left to its reader when another process runs the pipe by now", async () => {
    await using _earlier = await reading("millrace p 1");
    const lost = new AppError("LEASE_LOST", "Another process has taken over the pipe.");
    requireHeld.mockRejectedValueOnce(lost);
    await expect(endEarlierReader(serverOf(), slot, reader)).rejects.toBe(lost);
    expect(await isRead()).toBe(true);
  });

  test("is left to an earlier process of another user, and the warning says which right is missing", async () => {
    await using _earlier = await reading("millrace p 1", serverOf("plain", "x"));
    const held = await endEarlierReader(serverOf("watching", "x"), slot, reader);
    expect(held).toMatch(/user "watching" may not end it.* GRANT pg_signal_backend TO "watching"/);
    expect(await isRead()).toBe(true);
  });

  test("is free when nobody reads it", async () => {
    expect(await endEarlierReader(serverOf(), slot, reader)).toBeUndefined();
  });
});
