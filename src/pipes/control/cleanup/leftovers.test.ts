/** What pipes make at a source in memory goes with them: whatever is killed where, and while the source is away. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { limits } from "../../../../harness/limits.ts";
import { openTestDatabase } from "../../../../harness/stores.ts";
import { AppError } from "../../../lib/errors.ts";
import { createLogger } from "../../../lib/logger.ts";
import { Permits } from "../../../outgoing/permits.ts";
import { OutgoingPolicy } from "../../../outgoing/policy.ts";
import { kindOf } from "../../../sources/contract/registry.ts";
import type { Connector } from "../../../sources/contract/source.ts";
import { OrganizationStore } from "../../../store/access/organizations.ts";
import type { Database } from "../../../store/database/database.ts";
import { Sealer } from "../../../store/database/secrets.ts";
import { CdcScalingStore } from "../../../store/pipes/cdc-scaling.ts";
import { ErrorRequestStore } from "../../../store/pipes/error-requests.ts";
import { Ledger } from "../../../store/pipes/ledger.ts";
import { LeftoverStore } from "../../../store/pipes/leftovers.ts";
import { PipeStore } from "../../../store/pipes/pipes.ts";
import { ServiceStore } from "../../../store/services/services.ts";
import type { ReplicaParts } from "../supervisor/replica.ts";
import { PipesSupervisor, type PipeWorker } from "../supervisor/supervisor.ts";
import { LeftoverRemover } from "./leftovers.ts";

/** Ends a life of the control plane at one of its steps: nothing is written or removed by it afterwards. */
class Killer {
  steps = 0;
  readonly #at: number;

  constructor(at: number) {
    this.#at = at;
  }

  get isDead(): boolean {
    return this.steps >= this.#at;
  }

  step(): void {
    if (!this.isDead) this.steps += 1;
    if (this.isDead) throw new Error("killed");
  }

  /** Every write may be the last thing that happens, and may be the first that does not happen any more. */
  async around<T>(work: () => Promise<T>): Promise<T> {
    this.step();
    const result = await work();
    this.step();
    return result;
  }

  wrap(db: Database): Database {
    return {
      ...db,
      run: (sql, ...params) => this.around(() => db.run(sql, ...params)),
      transaction: (body) => this.around(() => db.transaction(body)),
    };
  }
}

const source = {
  relationalDb: {
    ...{ host: "h", database: "d", settings: { replicationMode: "cdc" } },
    tableMappings: [{ sourceSchemaName: "public", sourceTable: "t", targetTable: "t" }],
  },
};
const secrets = { credentials: { username: "u", password: "p" } };

async function setUp() {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-leftovers-"));
  const db = await openTestDatabase(dataDir);
  const { id: organizationId } = await new OrganizationStore(db).create("o");
  const services = new ServiceStore(db);
  const serviceId = await services.create(
    {
      ...{ organizationId, name: "s", provider: "local", region: "local", port: 1 },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
    },
    limits,
  );
  await services.setState(serviceId, "running", null);
  const sealer = new Sealer(randomBytes(32));
  const pipes = new PipeStore(db, sealer);
  const pipeId = await pipes.create(
    {
      ...{ serviceId, name: "p", sourceKind: "relationalDb", source, secrets, roles: undefined },
      ...{ fieldMappings: [], scaling: {}, settings: {}, destination: {} },
    },
    limits.pipes,
  );
  const leftovers = new LeftoverStore(db, sealer);
  const clock = { now: Date.now() };
  /** The source: what was made there, and whether it answers. */
  const atSource = { objects: new Set<string>(), isAway: false };

  /** One life of the control plane: as much of it as its killer lets happen. */
  const live = (killer = new Killer(Number.POSITIVE_INFINITY), key = sealer) => {
    const wrapped = killer.wrap(db);
    const own = { pipes: new PipeStore(wrapped, key), leftovers: new LeftoverStore(wrapped, key) };
    const policy = new OutgoingPolicy({ reach: ["any"], setting: "--x", ownPorts: [] });
    const logger = createLogger("silent");
    const shared = { logger, policy, poke: () => {}, now: () => clock.now };
    const connector = {
      cleanUp: async (config, { object: { kind, name } }) => {
        expect(config).toMatchObject(secrets);
        killer.step();
        if (atSource.isAway) throw new AppError("SOURCE_UNREACHABLE", "nobody listens");
        atSource.objects.delete(`${kind} ${name}`);
        killer.step();
      },
    } as Partial<Connector> as Connector;
    const supervisor = new PipesSupervisor({
      ...{
        ...shared,
        ...own,
        services: new ServiceStore(wrapped),
        cdcScaling: new CdcScalingStore(wrapped),
        ledger: new Ledger(wrapped),
        dataDir,
        errorRequests: new ErrorRequestStore(wrapped),
      },
      ...{ permits: new Permits(), diskProblem: async () => undefined },
      acquire: () => Promise.reject(new Error("no engine here")),
      ...{
        inboxes: { of: () => Promise.reject(new Error("no inbox here")), remove: async () => {} },
        isAwake: () => true,
      },
      limits: { sourceOutageMs: 1, sourceIdleTimeoutMs: 1, destinationOutageMs: 1, retryBaseMs: 1 },
      tellOwnPorts: () => {},
      startWorker: ({ job, pidFile }: ReplicaParts) => {
        for (const { kind, name } of kindOf(job.sourceKind).made?.(job.config, job.pipeId) ?? []) {
          killer.step();
          atSource.objects.add(`${kind} ${name}`);
        }
        return {
          ...{
            status: { phase: "running" },
            gauges: {},
            over: false,
            how: "",
            fault: "own",
            isLeaving: false,
            pidFile,
          },
          stop: async () => {},
        } as PipeWorker;
      },
    });
    const remover = new LeftoverRemover({ ...shared, leftovers: own.leftovers, connectorOf: async () => connector });
    const pass = async () => {
      await supervisor.pass().catch(() => {});
      await remover.pass().catch(() => {});
      await new Promise((resolve) => setImmediate(resolve));
      clock.now += 1_000;
    };
    const until = (done: () => Promise<boolean>) =>
      vi.waitFor(
        async () => {
          await pass();
          expect(killer.isDead || (await done())).toBe(true);
        },
        { timeout: 60_000, interval: 1 },
      );
    return { pass, until, remover };
  };
  type Life = ReturnType<typeof live>;
  const runs = async (life: Life) => await life.until(async () => (await pipes.find(pipeId))?.state === "Running");
  const goes = async (life: Life) => {
    await pipes.change(pipeId, { desiredState: "deleted" });
    await life.until(async () => (await pipes.find(pipeId)) === undefined);
  };
  const isClean = async () => (await leftovers.ofPipe(pipeId)).length === 0;
  const close = async () => {
    await db.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  const stores = { db, pipes, services, leftovers };
  return { ...stores, organizationId, serviceId, pipeId, clock, atSource, live, runs, goes, isClean, close };
}

let s: Awaited<ReturnType<typeof setUp>>;
afterEach(() => s.close());

test("killed at any step of making and removing, the next life leaves nothing at the source", async () => {
  let steps = 0;
  for (let at = 1; at <= steps + 1; at += 1) {
    s = await setUp();
    const killer = new Killer(at);
    const first = s.live(killer);
    await s.runs(first);
    // What is there is always on record.
    const names = (await s.leftovers.ofPipe(s.pipeId)).map(({ kind, name }) => `${kind} ${name}`);
    for (const object of s.atSource.objects) expect(names, `killed at ${at}`).toContain(object);
    await s.goes(first);
    await first.until(s.isClean);
    const second = s.live();
    await s.goes(second);
    await second.until(s.isClean);
    expect([...s.atSource.objects], `killed at ${at}`).toEqual([]);
    steps = Math.max(steps, killer.steps);
    if (at <= steps) s.close();
  }
  expect(steps).toBeGreaterThan(15);
});

test("a source that is away keeps no pipe alive, and is asked again until it is back, over restarts", async () => {
  s = await setUp();
  const first = s.live();
  await s.runs(first);
  expect(s.atSource.objects.size).toBe(2);
  expect(await s.leftovers.listIn(s.organizationId)).toEqual([]);
  s.atSource.isAway = true;
  await s.goes(first);
  await first.until(async () => (await s.leftovers.ofPipe(s.pipeId)).every(({ attempts }) => attempts >= 3));
  expect(await s.leftovers.listIn(s.organizationId)).toMatchObject([
    { kind: "publication", pipeId: s.pipeId, pipeName: "p", lastError: "nobody listens" },
    { kind: "slot", pipeId: s.pipeId, pipeName: "p", lastError: "nobody listens" },
  ]);
  expect(await s.leftovers.counts()).toMatchObject([
    { kind: "publication", count: 1 },
    { kind: "slot", count: 1 },
  ]);
  const tried = async () => (await s.leftovers.ofPipe(s.pipeId))[0]?.attempts ?? 0;
  const before = await tried();
  const second = s.live();
  await second.pass();
  expect(await tried(), "the pause outlives the restart").toBe(before);
  await second.until(async () => (await tried()) > before);
  s.atSource.isAway = false;
  await second.until(s.isClean);
  expect(s.atSource.objects.size).toBe(0);
});

test("pipes of a service that is deleted go with what they made, also stopped ones", async () => {
  s = await setUp();
  const life = s.live();
  await s.runs(life);
  await s.pipes.change(s.pipeId, { desiredState: "stopped" });
  await life.until(async () => (await s.pipes.find(s.pipeId))?.state === "Stopped");
  await s.services.setDesired(s.serviceId, "deleted");
  expect(await s.services.hasPipes(s.serviceId)).toBe(true);
  await life.until(async () => !(await s.services.hasPipes(s.serviceId)));
  await life.until(s.isClean);
  expect(s.atSource.objects.size).toBe(0);
});

test("what pipes made is left over also when their rows go by the service's", async () => {
  s = await setUp();
  const life = s.live();
  await s.runs(life);
  await s.services.remove(s.serviceId);
  await life.until(s.isClean);
  expect(s.atSource.objects.size).toBe(0);
});

test("secrets of another key: the pipe fails with a sentence, goes when it is deleted, and its leftovers stay listed", async () => {
  s = await setUp();
  await s.runs(s.live());
  const stranger = s.live(undefined, new Sealer(randomBytes(32)));
  const sentence =
    "the pipe's secrets were sealed with another key: set `credentials` again, as with `millrace apply -f FILE --update-secrets`";
  await stranger.until(async () => (await s.pipes.find(s.pipeId))?.state === "Failed");
  expect((await s.pipes.find(s.pipeId))?.lastError).toBe(sentence);
  await s.goes(stranger);
  await stranger.until(async () => (await s.leftovers.ofPipe(s.pipeId)).every(({ attempts }) => attempts > 0));
  expect((await s.leftovers.listIn(s.organizationId)).map(({ lastError }) => lastError)).toEqual([sentence, sentence]);
  await s.live().until(s.isClean);
  expect(s.atSource.objects.size).toBe(0);
});

test("a pipe that never began leaves nothing to remove; a leftover that is given up is tried no more", async () => {
  s = await setUp();
  await s.services.setState(s.serviceId, "stopped", null);
  await s.services.setDesired(s.serviceId, "stopped");
  const life = s.live();
  await life.until(async () => (await s.pipes.find(s.pipeId))?.state === "Stopped");
  await s.goes(life);
  expect(await s.isClean()).toBe(true);
  const pipe = { id: "gone", serviceId: s.serviceId, name: "g", sourceKind: "relationalDb" };
  await s.leftovers.record(pipe, [{ kind: "slot", name: "x" }], secrets);
  const [left] = await s.leftovers.listIn(s.organizationId);
  expect(await s.leftovers.giveUp("another organization", left?.id ?? "")).toBeUndefined();
  expect(await s.leftovers.giveUp(s.organizationId, left?.id ?? "")).toMatchObject({ name: "x" });
  expect(await s.leftovers.due(Number.MAX_SAFE_INTEGER / 10_000)).toEqual([]);
});

test("a deletion waits until its pipe has ended, but not longer than its limit", async () => {
  s = await setUp();
  const { pipes, pipeId } = s;
  const life = s.live();
  await s.runs(life);
  const { signal } = new AbortController();
  const isGone = async () => (await pipes.find(pipeId)) === undefined;
  const deleted = { list: async () => [], isGone };
  await pipes.change(pipeId, { desiredState: "deleted" });
  await life.remover.afterAttempt(deleted, 1, signal);
  expect(await isGone()).toBe(false);
  const wasGone = life.remover.afterAttempt(deleted, 60_000, signal).then(isGone);
  await s.goes(life);
  expect(await wasGone).toBe(true);
});
