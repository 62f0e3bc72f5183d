/**
 * Looks at the slot and the publication every few seconds while the stream is followed: reports how far behind the pipe
 * is, and tells of tables whose changes do not come any more, which the stream does not.
 */
import type pg from "pg";
import type { SourceContext } from "../../contract/source.ts";
import type { SourceServer } from "../declaration/kind.ts";
import type { TableName } from "./catalog.ts";
import { connect } from "./connection.ts";
import { unpublishedOf } from "./publication.ts";
import type { ReplicationNames } from "./slot.ts";
import { SlotHealthProbe } from "./slot-health.ts";

const intervalMs = 10_000;
const firstMs = 1_000;

export class SlotMonitor {
  readonly #server: SourceServer;
  readonly #context: SourceContext;
  readonly #names: ReplicationNames;
  readonly #followed: () => readonly TableName[];
  readonly #wal: SlotHealthProbe;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    server: SourceServer,
    context: SourceContext,
    names: ReplicationNames,
    followed: () => readonly TableName[],
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
      const silent = await unpublishedOf(this.#client, this.#names, this.#followed());
      // Stopped while it was connecting: nothing else would end this connection.
      if (this.#isStopped) return await this.#client.end();
      this.#context.progress.report({ ...gauges, ...more() });
      this.#context.progress.warn("slot", lost ?? warning);
      this.#context.progress.warn("publication", silent.length === 0 ? undefined : silentSentence(silent));
    } catch {
      // The stream itself says what is wrong with the source; here it is only asked again later.
      await this.#client?.end().catch(() => {});
      this.#client = undefined;
    }
  }
}

function silentSentence(tables: readonly TableName[]): string {
  const names = tables.map(({ schema, name }) => `${schema}.${name}`).join(", ");
  return (
    `The source does not send changes of ${names} any more: dropped, renamed, or taken out of the publication. ` +
    "Send the command resync with these tables, or remove them from tableMappings."
  );
}
