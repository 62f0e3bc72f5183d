/**
 * What senders must survive: everything that works for them is killed, the disk fills up, the service sleeps, and the
 * clock steps.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { numberOf } from "../bounds.ts";
import { SteppedClock, steppedClockMissing } from "../clock/stepped-clock.ts";
import { Dice } from "../random.ts";
import { type BenchService, runningService, type Served, serve, until } from "../serve.ts";
import { canMount, fill, smallDisk } from "../small-disk.ts";

const faults = ["server", "engine", "worker", "disk", "sleep", "clock"] as const;
type Fault = (typeof faults)[number];
export type FaultCounts = Record<Fault, number>;

const diskSize = "2g";
/** Between two faults, and as long as the disk is full. */
const calmMs = { least: 1_000, more: 3_000 };
/** The clock is so many seconds ahead at most, or behind: keys that are remembered for ten minutes outlive it. */
const mostAhead = 240;

if (steppedClockMissing !== undefined) console.log(`skipped: ${steppedClockMissing}`);

type Means = { readonly disk: Disposable | undefined; readonly clock: SteppedClock | undefined };

export class Ordeal implements AsyncDisposable {
  readonly dice: Dice;
  readonly service: BenchService;
  readonly counts: FaultCounts = { server: 0, engine: 0, worker: 0, disk: 0, sleep: 0, clock: 0 };
  /** The pipe whose worker is killed. */
  pipeId: string | undefined;
  served: Served;
  isOver = false;
  readonly #disk: Disposable | undefined;
  readonly #clock: SteppedClock | undefined;
  #rest: Promise<void> | undefined;

  private constructor(dice: Dice, served: Served, service: BenchService, { disk, clock }: Means) {
    this.#clock = clock;
    this.dice = dice;
    this.served = served;
    this.service = service;
    this.#disk = disk;
  }

  /** A server with a service that soon sleeps, on a disk of its own where one can be mounted. */
  static async begin(seed: number, env: Record<string, string> = {}): Promise<Ordeal> {
    const disk = canMount ? smallDisk(diskSize) : undefined;
    const clock = steppedClockMissing === undefined ? new SteppedClock() : undefined;
    const own = { MILLRACE_IDLE_MINUTE_MS: "300", MILLRACE_LOG_LEVEL: "silent", MILLRACE_MIN_FREE_DISK_GB: "0" };
    const served = await serve({
      ...(disk === undefined ? {} : { dataDir: join(disk.folder, "data"), keepData: true }),
      env: { ...own, ...env, ...clock?.env },
    });
    const service = await runningService(served, { idleTimeoutMinutes: 5 });
    return new Ordeal(new Dice(seed), served, service, { disk, clock });
  }

  /** Each fault `ROUNDS` times, in an order that the seed chooses. Without a small disk, it does not fill up. */
  async endure(): Promise<void> {
    const times = numberOf("ROUNDS", 3);
    const isPossible = (fault: Fault) =>
      (fault !== "disk" || canMount) &&
      (fault !== "clock" || this.#clock !== undefined) &&
      (fault !== "worker" || this.pipeId !== undefined);
    const left = Array.from({ length: times }, () => faults.filter(isPossible)).flat();
    while (left.length > 0) {
      await delay(calmMs.least + this.dice.next() * calmMs.more);
      const [fault] = left.splice(this.dice.below(left.length), 1) as [Fault];
      await this.#strike(fault);
      this.counts[fault] += 1;
    }
    this.isOver = true;
  }

  /** Resolves when senders may send: while the service is to fall asleep, they rest. */
  async mayGoOn(): Promise<void> {
    await this.#rest;
  }

  async drained(): Promise<void> {
    await until("everything is loaded", async () => {
      const { progress } = await this.#pipe();
      return progress.lagMessages === 0;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.served[Symbol.asyncDispose]();
    this.#disk?.[Symbol.dispose]();
    this.#clock?.[Symbol.dispose]();
  }

  async #pipe() {
    return await this.served.api.getPipe({ params: { ...this.service.params, pipeId: this.pipeId as string } });
  }

  async #strike(fault: Fault): Promise<void> {
    const { dataDir } = this.served;
    if (fault === "server") this.served = await this.served.restartAfterKill();
    else if (fault === "engine") await untilKilled(join(dataDir, "services", this.service.id, "engine.pid"));
    else if (fault === "worker") await untilKilled(join(dataDir, "pipes", `${this.pipeId}.pid`));
    else if (fault === "clock") this.#clock?.stepTo(this.dice.below(2 * mostAhead) - mostAhead);
    else if (fault === "disk") await this.#fillDisk(join(dataDir, "..", "filler"));
    else await this.#sleep();
  }

  async #fillDisk(file: string): Promise<void> {
    fill(file);
    await delay(calmMs.least + this.dice.next() * calmMs.more);
    rmSync(file);
  }

  async #sleep(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#rest = promise;
    const { api } = this.served;
    const { params } = this.service;
    try {
      await until("the service sleeps", async () => (await api.getService({ params })).state === "idle");
    } finally {
      this.#rest = undefined;
      resolve();
    }
  }
}

/** The service may sleep, and be woken by what is sent. */
async function untilKilled(pidFile: string): Promise<void> {
  await until(`the process of ${pidFile} is killed`, async () => killed(pidFile));
}

/** Kills the process that the file names; false when none is running. */
function killed(pidFile: string): boolean {
  if (!existsSync(pidFile)) return false;
  try {
    const { pid } = JSON.parse(readFileSync(pidFile, "utf8")) as { readonly pid: number };
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    // It has ended since, or a full disk has cut its file off.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Runs a soak with so many `SEEDS`, two by default, from `SEED` on; the counts add up. */
export async function ofSeeds(
  soak: (seed: number) => Promise<Readonly<Record<string, number>>>,
): Promise<Record<string, string | number>> {
  const first = numberOf("SEED", 1);
  const seeds = Array.from({ length: numberOf("SEEDS", 2) }, (_, at) => first + at);
  const totals: Record<string, number> = {};
  for (const seed of seeds) {
    for (const [name, count] of Object.entries(await soak(seed))) totals[name] = (totals[name] ?? 0) + count;
  }
  return { seeds: seeds.join(), ...totals };
}
