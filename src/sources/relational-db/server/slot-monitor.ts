/** Looks at the slot every few seconds while the stream is followed, and reports how far behind the pipe is. */
import type pg from "pg";
import type { SourceContext } from "../../contract/source.ts";
import type { SourceServer } from "../declaration/kind.ts";
import { connect } from "./connection.ts";
import { SlotHealthProbe } from "./slot-health.ts";

const intervalMs = 10_000;
const firstMs = 1_000;

export class SlotMonitor {
  readonly #server: SourceServer;
  readonly #context: SourceContext;
  readonly #wal: SlotHealthProbe;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(server: SourceServer, context: SourceContext, slot: string) {
    this.#server = server;
    this.#context = context;
    this.#wal = new SlotHealthProbe(slot, server.config.settings?.slotBudgetBytes);
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
}
