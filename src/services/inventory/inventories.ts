/**
 * What is in services, also while they sleep. A running engine is asked as the internal user, which is not an activity;
 * its tables are also kept in a file, every few minutes and before the engine is stopped. Nothing here wakes a service.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../lib/logger.ts";
import type { Service } from "../../store/services/services.ts";
import type { ServiceAccess } from "../access.ts";
import type { RunningEngine } from "../runtime.ts";
import { askEngine, askRunning, type EngineQuestion } from "./ask-engine.ts";
import { type Completions, readCompletions } from "./completions.ts";
import { keepFile, readKeptFile } from "./kept-file.ts";
import { readOneTable, readTableInventory, type TableFacts, type TableInventory } from "./tables.ts";

/** Facts, and when they were read. `live`: now, from the running engine. */
export type KnownFacts<T> = { readonly asOf: string; readonly live: boolean; readonly facts: T };

export type InventoriesOptions = {
  readonly dataDir: string;
  readonly access: Pick<ServiceAccess, "acquireRunning" | "engines">;
  readonly logger: Logger;
};

type KeptTables = { readonly format: 1; readonly asOf: string; readonly facts: TableInventory };
type KeptCompletions = { readonly format: 1; readonly facts: Completions };

const askTimeoutMs = 5_000;
/** A stopping engine waits at most this long. */
const lastTimeoutMs = 2_000;
const completionsTimeoutMs = 30_000;

export class Inventories {
  readonly #options: InventoriesOptions;

  constructor(options: InventoriesOptions) {
    this.#options = options;
  }

  /** Undefined while nothing is known. A running engine that does not answer leaves what was kept. */
  async tables(service: Service, withColumns: boolean): Promise<KnownFacts<TableInventory> | undefined> {
    return (
      (await this.#ask(service.id, (client, options) => readTableInventory(client, options, withColumns))) ??
      (await this.#keptTables(service.id))
    );
  }

  /** Undefined while nothing is known; its facts are undefined when there is no such table. */
  async table(
    service: Service,
    database: string,
    name: string,
  ): Promise<KnownFacts<TableFacts | undefined> | undefined> {
    const asked = await this.#ask(service.id, (client, options) => readOneTable(client, options, database, name));
    if (asked !== undefined) return asked;
    const kept = await this.#keptTables(service.id);
    const find = (facts: TableInventory) => facts.tables.find((one) => one.database === database && one.name === name);
    return kept && { ...kept, facts: find(kept.facts) };
  }

  /** Undefined while no engine of the service's version has run. */
  async completions(service: Service): Promise<Completions | undefined> {
    const kept = await this.#keptCompletions(service.databaseVersion);
    if (kept !== undefined) return kept;
    const engine = this.#options.access.engines().get(service.id);
    return engine === undefined ? undefined : await this.#keepCompletions(engine);
  }

  /** Keeps the tables of every running engine, and the completions of its version. */
  async pass(): Promise<void> {
    for (const [id, engine] of this.#options.access.engines()) {
      try {
        await this.#keepTables(id, engine, askTimeoutMs);
        if ((await this.#keptCompletions(engine.version)) === undefined) await this.#keepCompletions(engine);
      } catch (error) {
        // The engine is ending or too busy; its state shows that. What was kept before stays.
        this.#options.logger.debug({ err: error, serviceId: id }, "inventory not kept");
      }
    }
  }

  /** Keeps the tables of an engine that is about to be stopped. Never rejects: what was kept before stays. */
  async beforeStop(serviceId: string, engine: RunningEngine): Promise<void> {
    await this.#keepTables(serviceId, engine, lastTimeoutMs).catch((error: unknown) => {
      this.#options.logger.debug({ err: error, serviceId }, "tables not kept");
    });
  }

  /** Undefined when the service does not run or its engine does not answer. */
  async #ask<T>(serviceId: string, question: EngineQuestion<T>): Promise<KnownFacts<T> | undefined> {
    const asOf = new Date().toISOString();
    try {
      // In an object: undefined is an answer too.
      const answer = await askRunning(this.#options.access, serviceId, askTimeoutMs, async (client, options) => ({
        facts: await question(client, options),
      }));
      return answer && { asOf, live: true, ...answer };
    } catch (error) {
      this.#options.logger.debug({ err: error, serviceId }, "engine does not answer");
      return undefined;
    }
  }

  async #keepTables(serviceId: string, engine: RunningEngine, limitMs: number): Promise<void> {
    const asOf = new Date().toISOString();
    const facts = await askEngine(engine, limitMs, (client, options) => readTableInventory(client, options, true));
    await keepFile(this.#tablesFile(serviceId), { format: 1, asOf, facts } satisfies KeptTables);
  }

  async #keptTables(serviceId: string): Promise<KnownFacts<TableInventory> | undefined> {
    const kept = await readKeptFile<KeptTables>(this.#tablesFile(serviceId), 1);
    return kept && { asOf: kept.asOf, live: false, facts: kept.facts };
  }

  async #keepCompletions(engine: RunningEngine): Promise<Completions> {
    const facts = await askEngine(engine, completionsTimeoutMs, (client, options) =>
      readCompletions(client, options, engine.version),
    );
    await mkdir(join(this.#options.dataDir, "cache"), { recursive: true, mode: 0o700 });
    await keepFile(this.#completionsFile(engine.version), { format: 1, facts } satisfies KeptCompletions);
    return facts;
  }

  async #keptCompletions(version: string): Promise<Completions | undefined> {
    return (await readKeptFile<KeptCompletions>(this.#completionsFile(version), 1))?.facts;
  }

  /** In the service's folder, with which it is removed. */
  #tablesFile(serviceId: string): string {
    return join(this.#options.dataDir, "services", serviceId, "tables.json");
  }

  #completionsFile(version: string): string {
    return join(this.#options.dataDir, "cache", `completions-${version.replaceAll(/[^0-9A-Za-z.]/g, "_")}.json`);
  }
}
