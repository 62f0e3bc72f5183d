/** The supervisor of pipes against workers that are objects: the test controls every status, death and delay. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { createLogger } from "../src/lib/logger.ts";
import { Permits } from "../src/outgoing/permits.ts";
import { OutgoingPolicy } from "../src/outgoing/policy.ts";
import type { ReplicaParts } from "../src/pipes/control/supervisor/replica.ts";
import { PipesSupervisor, type PipeWorker } from "../src/pipes/control/supervisor/supervisor.ts";
import type { Fault } from "../src/pipes/control/workers/worker.ts";
import type { Job, WorkerStatus } from "../src/pipes/protocol.ts";
import { OrganizationStore } from "../src/store/access/organizations.ts";
import { type Database, openDatabase } from "../src/store/database/database.ts";
import { Sealer } from "../src/store/database/secrets.ts";
import { CdcScalingStore } from "../src/store/pipes/cdc-scaling.ts";
import { ErrorRequestStore } from "../src/store/pipes/error-requests.ts";
import { Ledger } from "../src/store/pipes/ledger.ts";
import { LeftoverStore } from "../src/store/pipes/leftovers.ts";
import { PipeStore } from "../src/store/pipes/pipes.ts";
import { ServiceStore } from "../src/store/services/services.ts";
import { limits } from "./limits.ts";

export class FakeWorker implements PipeWorker {
  readonly job: Job;
  readonly isAlone: boolean;
  readonly pidFile: string;
  readonly gauges = { lag: 2 };
  status: WorkerStatus = { phase: "preparing" };
  over = false;
  how = "";
  fault: Fault = "own";
  isLeaving = false;
  readonly #changed: () => void;
  readonly #mayEnd: () => Promise<void>;

  constructor(parts: ReplicaParts, mayEnd: () => Promise<void>) {
    this.job = parts.job;
    this.isAlone = parts.isAlone;
    this.pidFile = parts.pidFile;
    this.#changed = parts.changed;
    this.#mayEnd = mayEnd;
  }

  say(status: WorkerStatus): void {
    this.status = status;
    this.#changed();
  }

  die(how: string, fault: Fault = "own"): void {
    this.over = true;
    this.how = how;
    this.fault = fault;
    this.#changed();
  }

  async stop(): Promise<void> {
    await this.#mayEnd();
    this.over = true;
  }
}

/** The database, with the number of its queries and writes. */
function counting(db: Database, queries: { count: number }): Database {
  const counted =
    <A extends unknown[], R>(work: (...args: A) => R) =>
    (...args: A) => {
      queries.count += 1;
      return work(...args);
    };
  // The generic methods keep their types.
  const { all, get } = { all: counted(db.all), get: counted(db.get) } as Database;
  return { ...db, all, get, run: counted(db.run), transaction: counted(db.transaction) as Database["transaction"] };
}

/** A service that runs, and pipes of two replicas in it. */
async function storesOfPipes() {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-supervisor-"));
  const queries = { count: 0 };
  const db = counting(openDatabase(join(dataDir, "m.db")), queries);
  const organization = await new OrganizationStore(db).create("o");
  const services = new ServiceStore(db);
  const serviceId = await services.create(
    {
      ...{ organizationId: organization.id, name: "s", provider: "local", region: "local", port: 1 },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
    },
    limits,
  );
  await services.setState(serviceId, "running", null);
  const sealer = new Sealer(randomBytes(32));
  const [pipes, leftovers] = [new PipeStore(db, sealer), new LeftoverStore(db, sealer)];
  const addPipe = (name: string) =>
    pipes.create(
      {
        ...{ serviceId, name, sourceKind: "objectStorage", source: { objectStorage: { url: "https://h/b/*" } } },
        ...{ secrets: {}, roles: undefined, fieldMappings: [], scaling: { replicas: 2 }, settings: {} },
        destination: { table: "t", columns: [{ name: "a", type: "String" }] },
      },
      limits.pipes,
    );
  return { dataDir, db, queries, services, serviceId, pipes, leftovers, cdcScaling: new CdcScalingStore(db), addPipe };
}

type Made = Awaited<ReturnType<typeof storesOfPipes>>;

/** A supervisor, and what a test changes about it. */
function supervisorOf({ dataDir, db, services, pipes, leftovers, cdcScaling }: Made) {
  const clock = { now: 1_000_000 };
  const workers: FakeWorker[] = [];
  const told = { ownPorts: [] as (readonly number[])[] };
  const gate = { mayEnd: async () => {}, failStarts: 0 };
  const policy = new OutgoingPolicy({ reach: ["any"], setting: "--x", ownPorts: [] });
  const supervisor = new PipesSupervisor({
    ...{
      pipes,
      services,
      leftovers,
      cdcScaling,
      ledger: new Ledger(db),
      errorRequests: new ErrorRequestStore(db),
      logger: createLogger("silent"),
      dataDir,
      policy,
    },
    ...{ permits: new Permits(), poke: () => {}, now: () => clock.now, diskProblem: async () => undefined },
    acquire: () => Promise.reject(new Error("no engine here")),
    ...{
      inboxes: { of: () => Promise.reject(new Error("no inbox here")), remove: async () => {} },
      isAwake: () => true,
    },
    limits: { sourceOutageMs: 1, sourceIdleTimeoutMs: 1, destinationOutageMs: 1, retryBaseMs: 1 },
    tellOwnPorts: (ownPorts) => void told.ownPorts.push(ownPorts),
    startWorker: (parts) => {
      if (gate.failStarts > 0 && parts.job.replica.index === 1) {
        gate.failStarts -= 1;
        throw new Error("no more processes");
      }
      const worker = new FakeWorker(parts, () => gate.mayEnd());
      workers.push(worker);
      return worker;
    },
  });
  return { clock, workers, told, gate, policy, supervisor };
}

/** A service with one pipe of two replicas, and its supervisor. `close` it at the end. */
export async function supervised() {
  const made = await storesOfPipes();
  const { db, queries, services, serviceId, pipes, cdcScaling, addPipe } = made;
  const id = await addPipe("p");
  const { clock, workers, told, gate, policy, supervisor } = supervisorOf(made);
  const live = () => workers.filter((worker) => !worker.over);
  const pass = async () => {
    await supervisor.pass();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const shown = async () => {
    const pipe = await pipes.find(id);
    return pipe && { state: pipe.state, reason: pipe.lastError };
  };
  /** Runs passes until the pipe is in the state and has this many live workers. */
  const until = (state: string | undefined, count: number) =>
    vi.waitFor(
      async () => {
        await pass();
        expect([(await shown())?.state, live().length]).toEqual([state, count]);
      },
      { timeout: 60_000, interval: 1 },
    );
  const running = async () => {
    await until("Provisioning", 2);
    for (const worker of live()) worker.say({ phase: "running" });
    await until("Running", 2);
  };
  const close = async () => {
    await supervisor.close();
    db.close();
    rmSync(made.dataDir, { recursive: true });
  };
  return {
    db,
    pipes,
    services,
    cdcScaling,
    serviceId,
    id,
    clock,
    workers,
    gate,
    policy,
    told,
    queries,
    addPipe,
    supervisor,
    live,
    pass,
    shown,
    until,
    running,
    close,
  };
}
