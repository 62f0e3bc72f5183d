/**
 * Looks at the slot and the publication every few seconds while the stream is followed: reports how far behind the pipe
 * is, and stops tables of which changes do not come any more, which the stream does not tell. Once they are published
 * whole again, nothing else would say that changes are missing.
 */
import type pg from "pg";
import type { SourceContext } from "../../contract/source.ts";
import type { SourceTable } from "../declaration/durable.ts";
import type { SourceServer } from "../declaration/kind.ts";
import type { TableState } from "../tables/table-states.ts";
import { replicatedColumns } from "./catalog.ts";
import { connect } from "./connection.ts";
import { unsentOf } from "./publication.ts";
import type { ReplicationNames } from "./slot.ts";
import { SlotHealthProbe } from "./slot-health.ts";

const intervalMs = 10_000;
const firstMs = 1_000;

export class SlotMonitor {
  readonly #server: SourceServer;
  readonly #context: SourceContext;
  readonly #names: ReplicationNames;
  readonly #followed: () => readonly TableState[];
  readonly #wal: SlotHealthProbe;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    server: SourceServer,
    context: SourceContext,
    names: ReplicationNames,
    followed: () => readonly TableState[],
  ) {
    this.#server = server;
    this.#context = context;
    this.#names = names;
    this.#followed = followed;
    this.#wal = new SlotHealthProbe(names.slot, server.config.settings?.slotBudgetBytes);
  }

  start(more: () => Readonly<Record<string, number>>): void {
    this.#plan(firstMs, more);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => {});
  }

  #plan(ms: number, more: () => Readonly<Record<string, number>>): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#look(more).finally(() => this.#plan(intervalMs, more)), ms);
  }

  async #look(more: () => Readonly<Record<string, number>>): Promise<void> {
    try {
      this.#client ??= await connect(this.#server);
      const { gauges, warning, lost } = await this.#wal.poll(this.#client);
      await this.#stopSilent(this.#client);
      // Stopped while it was connecting: nothing else would end this connection.
      if (this.#isStopped) return await this.#client.end();
      this.#context.progress.report({ ...gauges, ...more() });
      this.#context.progress.warn("slot", lost ?? warning);
    } catch {
      // The stream itself says what is wrong with the source; here it is only asked again later.
      await this.#client?.end().catch(() => {});
      this.#client = undefined;
    }
  }

  async #stopSilent(client: pg.Client): Promise<void> {
    const states = new Map(this.#followed().map((state) => [state.source, state]));
    const columnsOf = (table: SourceTable) => {
      const { excludedColumns } = (states.get(table) as TableState).plan.mapping;
      return replicatedColumns(table, excludedColumns).map(({ name }) => name);
    };
    const reasons = await unsentOf(client, this.#names, [...states.keys()], columnsOf);
    const remedy = "Publish the whole table, or remove it from tableMappings.";
    // The states of another attempt to read may have taken the place of these meanwhile.
    for (const [table, why] of reasons) if (!this.#isStopped) await states.get(table)?.stop(why, remedy);
  }
}
