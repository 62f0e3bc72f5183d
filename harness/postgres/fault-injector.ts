/** A Postgres pipe under random kills: the faults, and the final wait and comparison. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { details } from "../pipes.ts";
import type { Dice } from "../random.ts";
import { type BenchService, query, type Served, until } from "../serve.ts";
import { type Compared, compareTable, untilCaughtUp, untilTableEqual } from "./compare.ts";
import type { FailoverPair } from "./failover.ts";
import type { TestPostgres } from "./postgres.ts";

export const faults = ["worker", "engine", "control", "source", "pipe", "service", "resync", "failover"] as const;
export type Fault = (typeof faults)[number];

/** A service is given up when its engine dies six times in a row without a stable minute: stay below that. */
const enginePatience = { kills: 4, withinMs: 70_000 };

export class FaultInjector {
  readonly source: TestPostgres;
  readonly service: BenchService;
  readonly pipeId: string;
  readonly dice: Dice;
  readonly done: Record<Fault, number> = Object.fromEntries(faults.map((inject) => [inject, 0])) as Record<
    Fault,
    number
  >;
  /** The servers of `source`, when that is an address. */
  readonly #pair: FailoverPair | undefined;
  /** Replaced when the control plane is killed. */
  served: Served;
  #engineKills: number[] = [];

  constructor(parts: {
    served: Served;
    service: BenchService;
    source: TestPostgres;
    pair?: FailoverPair | undefined;
    pipeId: string;
    dice: Dice;
  }) {
    this.#pair = parts.pair;
    this.served = parts.served;
    this.service = parts.service;
    this.source = parts.source;
    this.pipeId = parts.pipeId;
    this.dice = parts.dice;
  }

  /** Injects one fault, a random one by default. Waits until the killed process is back, except for children. */
  async inject(kind: Fault = this.#pick()): Promise<void> {
    await this.revive();
    const params = { ...this.service.params, pipeId: this.pipeId };
    if (kind === "worker" && !this.#kill(`pipes/${this.pipeId}.pid`)) return;
    if (kind === "engine") {
      if (!this.#kill(`services/${this.service.id}/engine.pid`)) return;
      this.#engineKills.push(Date.now());
    } else if (kind === "control") this.served = await this.served.restartAfterKill();
    else if (kind === "source") {
      const server = this.#pair?.current ?? this.source;
      await server.crash();
      await delay(this.dice.below(1_000));
      await server.start();
    } else if (kind === "pipe") {
      await this.served.api.updatePipeState({ params, body: { command: "stop" } });
      await delay(this.dice.below(2_000));
      await until("the pipe starts", async () => await this.#command(params, "start"));
    } else if (kind === "service") await this.#restartService();
    else if (kind === "resync") await this.#resyncOne();
    else if (kind === "failover" && !(await this.#failOver())) return;
    this.done[kind] += 1;
  }

  /** Acts as the operator: a service or a pipe that was killed too often stays down until it is started again. */
  async revive(): Promise<void> {
    const { params } = this.service;
    if ((await this.served.api.getService({ params })).state === "failed") {
      await this.served.api.updateServiceState({ params, body: { command: "start" } });
    }
    const { state } = await details(this.served, this.service, this.pipeId);
    if (state === "InternalError") await this.#command({ ...params, pipeId: this.pipeId }, "start");
  }

  /** The pipe's current state in the API, for errors. */
  async describe(): Promise<string> {
    const { state, lastError, progress } = await details(this.served, this.service, this.pipeId);
    return `pipe ${state} ${lastError ?? ""} ${JSON.stringify(progress)}`;
  }

  /** Waits until everything is durable, then compares every table; throws with all that differ. */
  async settle(tables: readonly string[], limitMs: number): Promise<Record<string, Compared>> {
    await this.revive();
    // Only a worker whose copy is complete monitors the slot. What it said stays until the next copy begins.
    const follows = async () => {
      const { state, progress } = await details(this.served, this.service, this.pipeId);
      return state === "Running" && progress.slotRetainedBytes !== undefined;
    };
    await until("the pipe follows its source", follows, limitMs).catch(async (error: Error) => {
      throw new Error(`${error.message}; ${await this.describe()}`);
    });
    await untilCaughtUp(this.source, limitMs, () => this.describe());
    return await this.#compare(tables);
  }

  /**
   * Repairs a table whose columns change, by a resync: when the pipe reports that it could not follow, the other tables
   * are still right. True when there was one.
   */
  async resyncIfAsked(table: string, limitMs: number): Promise<boolean> {
    const { needsResync, lastError } = await details(this.served, this.service, this.pipeId);
    if (needsResync === undefined) return false;
    const others = needsResync.tables?.filter((name) => !name.endsWith(`.${table}`));
    if (others?.length !== 0) throw new Error(`another table asks for a resync: ${lastError}`);
    const params = { ...this.service.params, pipeId: this.pipeId };
    await this.served.api.updatePipeState({ params, body: { command: "resync" } });
    await untilTableEqual(this.source, this.service, table, limitMs).catch(async (error: Error) => {
      throw new Error(`after a resync: ${error.message}\n${await this.describe()}`);
    });
    return true;
  }

  async #compare(tables: readonly string[]): Promise<Record<string, Compared>> {
    const compared: Record<string, Compared> = {};
    const problems: string[] = [];
    for (const table of tables) {
      try {
        compared[table] = await compareTable(this.source, this.service, table, `${table}_current`);
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    if (problems.length === 0) return compared;
    const found = await this.#destination().catch((error: Error) => error.message);
    throw new Error(`${problems.join("\n")}\n${await this.describe()}\nThe destination has:\n${found}`);
  }

  /** What tells a table that was made anew from one whose rows are gone, or are not shown. */
  async #destination(): Promise<string> {
    const found = [
      `SELECT now(), name, engine, total_rows, metadata_modification_time, comment, groupArray((p.name, p.rows, p.active))
       FROM system.tables AS t LEFT JOIN system.parts AS p ON p.table = t.name AND p.database = t.database
       WHERE t.database = 'default' GROUP BY ALL ORDER BY name FORMAT TSV`,
      "SELECT table, name, reason, modification_time FROM system.detached_parts WHERE database = 'default' FORMAT TSV",
    ].map((sql) => query(this.service, sql));
    return (await Promise.all(found)).join("\n");
  }

  #pick(): Fault {
    this.#engineKills = this.#engineKills.filter((at) => Date.now() - at < enginePatience.withinMs);
    const spare = this.#engineKills.length >= enginePatience.kills;
    const kind = this.dice.pick([
      "worker",
      "worker",
      "worker",
      "engine",
      "control",
      "source",
      "pipe",
      "service",
      "resync",
      ...(this.#pair === undefined ? [] : (["failover", "failover"] as const)),
    ] as const);
    return kind === "engine" && spare ? "worker" : kind;
  }

  /** Only while the stream is followed: a copy may be ahead of the standby. */
  async #failOver(): Promise<boolean> {
    const { state, progress } = await details(this.served, this.service, this.pipeId);
    if (this.#pair === undefined || state !== "Running" || progress.slotRetainedBytes === undefined) return false;
    await this.#pair.untilSlotsAreKept();
    await this.#pair.failOver();
    await this.#pair.renew();
    return true;
  }

  /** One table is copied anew while the others are followed. */
  async #resyncOne(): Promise<void> {
    const { tables = [] } = await details(this.served, this.service, this.pipeId);
    const { sourceTable } = this.dice.pick(tables);
    const params = { ...this.service.params, pipeId: this.pipeId };
    await this.served.api.updatePipeState({ params, body: { command: "resync", tables: [sourceTable] } });
  }

  async #restartService(): Promise<void> {
    const { params } = this.service;
    const state = async () => (await this.served.api.getService({ params })).state;
    await until("the service can be stopped", async () => (await state()) === "running");
    await this.served.api.updateServiceState({ params, body: { command: "stop" } });
    await until("the service stops", async () => (await state()) === "stopped");
    await delay(this.dice.below(2_000));
    await this.served.api.updateServiceState({ params, body: { command: "start" } });
    await until("the service runs", async () => (await state()) === "running");
  }

  /** False while the pipe is in a transition that does not accept the command. */
  async #command(params: { organizationId: string; serviceId: string; pipeId: string }, command: "start" | "stop") {
    try {
      await this.served.api.updatePipeState({ params, body: { command } });
      return true;
    } catch {
      return false;
    }
  }

  #kill(pidFile: string): boolean {
    try {
      const text = readFileSync(`${this.served.dataDir}/${pidFile}`, "utf8");
      process.kill((JSON.parse(text) as { pid: number }).pid, "SIGKILL");
      return true;
    } catch {
      // The process is not running.
      return false;
    }
  }
}
