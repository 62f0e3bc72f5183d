/** Slots of pipes without workers against a real server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { limits } from "../../../../harness/limits.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { postgresMissing, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import { openTestStores } from "../../../../harness/stores.ts";
import { createLogger } from "../../../lib/logger.ts";
import { connectorOf } from "../../../sources/connectors.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";
import { ReplicationSlotWatch } from "./replication-slot-watch.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.warn(`Slots of pipes without workers: skipped, ${missing}`);

test.skipIf(missing !== undefined)("a slot is looked at while nobody reads it, also after an outage", async () => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-replication-slot-watch-"));
  await using server = await TestPostgres.start({ settings: { max_slot_wal_keep_size: "1GB" } });
  const stores = await openTestStores(dir);
  try {
    const { pipes, services, leftovers } = stores;
    const { id: organizationId } = await stores.organizations.create("o");
    const serviceId = await services.create(
      {
        ...{ organizationId, name: "s", provider: "local", region: "local", port: 1 },
        ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
        ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
      },
      limits,
    );
    const { host, port, database, user, password } = server;
    const pipeId = await pipes.create(
      {
        ...{ serviceId, name: "p", sourceKind: "relationalDb", roles: undefined, destination: {} },
        source: { relationalDb: { host, port, database, disableTls: true, tableMappings: [] } },
        secrets: { credentials: { username: user, password } },
        ...{ fieldMappings: [], scaling: {}, settings: {} },
      },
      limits.pipes,
    );
    const pipe = { id: pipeId, serviceId, name: "p", sourceKind: "relationalDb" };
    await leftovers.record(pipe, [{ kind: "slot", name: "mine" }], {});
    await server.sql("SELECT pg_create_logical_replication_slot('mine', 'pgoutput')");
    const workers = { run: false };
    const watch = new ReplicationSlotWatch({
      ...{ pipes, leftovers, connectorOf, policy: anyNetwork.policy, logger: createLogger("silent") },
      isLeftToOthers: () => workers.run,
    });
    const until = async (check: () => void) =>
      await vi.waitFor(async () => {
        await watch.pass();
        check();
      }, 60_000);
    const retained = () => watch.seen(pipeId).gauges.slotRetainedBytes ?? 0;
    await until(() => expect(watch.seen(pipeId).gauges.slotSafeBytes).toBeGreaterThan(0));
    const before = retained();
    await server.sql("CREATE TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 5000)");
    await until(() => expect(retained()).toBeGreaterThan(before + 1_000_000));
    await server.stop();
    await until(() => expect(watch.seen(pipeId).warning).toContain("nothing listens"));
    expect(watch.seen(pipeId).gauges).toEqual({});
    await server.start();
    await until(() => expect(retained()).toBeGreaterThan(before + 1_000_000));
    const budget = async (slotBudgetAction: "warn" | "drop") => {
      const stored = (await pipes.find(pipeId)) as Pipe;
      const relationalDb = {
        ...(stored.source.relationalDb as object),
        settings: { slotBudgetBytes: 1_048_576, slotBudgetAction },
      };
      await pipes.change(pipeId, { source: { relationalDb } });
    };
    await budget("warn");
    await until(() => expect(watch.seen(pipeId).warning).toContain("more than slotBudgetBytes"));
    const slots = async () => (await server.sql("SELECT count(*)::int AS n FROM pg_replication_slots"))[0]?.n;
    expect(await slots()).toBe(1);
    await budget("drop");
    await until(() => expect(watch.seen(pipeId).warning).toContain("needs a resync"));
    expect(await slots()).toBe(0);
    await until(() => expect(watch.seen(pipeId).warning).toContain("does not exist any more"));
    // A slot of the user's own: watched too, and not dropped.
    await server.sql("SELECT pg_create_logical_replication_slot('theirs', 'pgoutput')");
    const stored = (await pipes.find(pipeId)) as Pipe;
    const named = { replicationMode: "cdc_only", replicationSlotName: "theirs", slotBudgetBytes: 1_048_576 };
    const settings = { ...named, slotBudgetAction: "drop" };
    const relationalDb = { ...(stored.source.relationalDb as object), settings };
    for (const { id } of await leftovers.ofPipe(pipeId)) await leftovers.remove(id);
    await pipes.change(pipeId, { source: { relationalDb } });
    await server.sql("CREATE TABLE u AS SELECT repeat('x', 1000) FROM generate_series(1, 5000)");
    await until(() => expect(watch.seen(pipeId).warning).toMatch(/slot "theirs" holds back .* slotBudgetBytes/));
    expect(retained()).toBeGreaterThan(1_000_000);
    expect(await slots()).toBe(1);
    workers.run = true;
    await until(() => expect(watch.seen(pipeId)).toEqual({ gauges: {} }));
    await watch.close();
  } finally {
    stores.db.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
