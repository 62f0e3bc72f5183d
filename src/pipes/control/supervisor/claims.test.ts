import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { newPipe, newService } from "../../../../harness/new-pipe.ts";
import { openTestStores } from "../../../../harness/stores.ts";
import type { RuntimeKind } from "../../../api/runtimes.ts";
import { createLogger } from "../../../lib/logger.ts";
import { TaskTable } from "../../../lib/task-table.ts";
import { SharedLeases } from "../../../store/nodes/leases.ts";
import { NodeLease, type PipeSelection } from "../../../store/nodes/nodes.ts";
import type { Stores } from "../../../store/open.ts";
import { PipeClaims } from "./claims.ts";

let dir: string;
let stores: Stores;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-claims-"));
  stores = await openTestStores(dir);
});
afterEach(async () => {
  await stores.close();
  rmSync(dir, { recursive: true });
});

/** A process of the installation, without workers. */
async function joining(id: string, slots?: number, takes?: PipeSelection) {
  const { db } = stores;
  await NodeLease.claim(db, { id, role: "server", version: "1", isExclusive: true });
  const leases = new SharedLeases({ db, nodeId: id, slots, takes });
  await leases.join();
  const tasks = new TaskTable({ poke: () => {}, onFailure: (_, error) => expect.unreachable(String(error)) });
  const ended: string[] = [];
  const claims = new PipeClaims({
    ...{ leases, tasks, logger: createLogger("silent"), runs: () => [] },
    forget: async (pipeId) => void ended.push(pipeId),
  });
  const held = async () => {
    const ids = (await stores.pipes.listAll()).map((pipe) => pipe.id);
    return ids.filter((pipeId) => leases.holds("pipe", pipeId));
  };
  const pass = async () => {
    const services = (await stores.services.listAll()).map((service) => [service.id, service] as const);
    await claims.pass(await stores.pipes.listAll(), new Map(services));
    await vi.waitFor(() => expect(tasks.active).toBe(0), 60_000);
    return await held();
  };
  return { leases, ended, pass };
}

async function pipesIn(runtime: RuntimeKind, count: number): Promise<string> {
  const serviceId = await newService(stores);
  const change = "UPDATE services SET runtime = ?, node_id = NULL WHERE id = ?";
  await stores.db.run(change, runtime, serviceId);
  for (let at = 0; at < count; at += 1) await newPipe(stores, serviceId);
  return serviceId;
}

const common = ["external", "kubernetes"] as const;
test.each(common)(
  "a process that joins gets its share of the pipes, each after it was ended elsewhere: %s",
  async (runtime) => {
    await pipesIn(runtime, 6);
    const one = await joining("a");
    expect(await one.pass()).toHaveLength(6);
    const other = await joining("b", 2);
    expect(await other.pass()).toEqual([]);
    const kept = await one.pass();
    expect(kept).toHaveLength(4);
    const taken = await other.pass();
    expect(taken.toSorted()).toEqual(one.ended.toSorted());
    expect(new Set([...kept, ...taken]).size).toBe(6);
    // Nothing moves to and fro.
    expect(await one.pass()).toEqual(kept);
    expect(await other.pass()).toEqual(taken);
    await one.leases.leave();
    await one.leases.releaseAll();
    expect(await other.pass(), "its slots are taken").toEqual(taken);
  },
);

test("a process that takes other kinds has no share, and the others have all", async () => {
  await pipesIn("external", 4);
  const [one, other] = [await joining("a"), await joining("b", undefined, { kinds: ["none", "such"] })];
  expect(await other.pass()).toEqual([]);
  expect(await one.pass()).toHaveLength(4);
});

test("the pipes of an engine are where its service is", async () => {
  const serviceId = await pipesIn("embedded", 3);
  const [one, other] = [await joining("a"), await joining("b")];
  await one.leases.claim("service", [serviceId]);
  expect(await other.pass()).toEqual([]);
  expect(await one.pass()).toHaveLength(3);
  await one.leases.release("service", [serviceId]);
  await other.leases.claim("service", [serviceId]);
  expect(await other.pass()).toEqual([]);
  expect(await one.pass()).toEqual([]);
  expect(one.ended).toHaveLength(3);
  expect(await other.pass()).toHaveLength(3);
});
