/**
 * Looks at the replication slots of pipes without a worker (the pipe is stopped or failed, or its service is stopped):
 * a source keeps log for a slot whether it is read or not. Running workers look themselves.
 */
import { publicMessage } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { Logger } from "../../../lib/logger.ts";
import { TaskTable } from "../../../lib/task-table.ts";
import type { OutgoingPolicy } from "../../../outgoing/policy.ts";
import type { SourceObject, SourceWatch } from "../../../sources/contract/own-objects.ts";
import { sourceKinds } from "../../../sources/contract/registry.ts";
import type { Connector, SourceKind } from "../../../sources/contract/source.ts";
import type { LeftoverStore } from "../../../store/pipes/leftovers.ts";
import type { PipeStore } from "../../../store/pipes/pipes.ts";
import { fullConfig } from "../definition/definition.ts";
import { sealedOtherwise } from "../definition/stored-definition.ts";
import { noReads } from "./leftovers.ts";

export type ReplicationSlotWatchOptions = {
  readonly pipes: PipeStore;
  readonly leftovers: LeftoverStore;
  readonly connectorOf: (kind: string) => Promise<Connector>;
  readonly policy: OutgoingPolicy;
  readonly logger: Logger;
  /** Its workers look at the replication slot, or the process that has the pipe. */
  readonly isLeftToOthers: (pipeId: string) => boolean;
};

/** A replication slot of a pipe: its own, or one that the user has named. */
type ReplicationSlot = {
  readonly pipeId: string;
  readonly organizationId: string;
  readonly sourceKind: string;
  readonly name: string;
};

/** What the last look has shown. */
export type Seen = {
  readonly gauges: Readonly<Record<string, number>>;
  /** What is in danger, or why the source could not be looked at. */
  readonly warning?: string | undefined;
};

type Watched = { readonly generation: number; readonly watch: SourceWatch; seen: Seen };

const nothing: Seen = { gauges: {} };

export class ReplicationSlotWatch {
  readonly #options: ReplicationSlotWatchOptions;
  readonly #tasks: TaskTable;
  readonly #watched = new Map<string, Watched>();

  constructor(options: ReplicationSlotWatchOptions) {
    this.#options = options;
    this.#tasks = new TaskTable({
      poke: () => {},
      onFailure: (pipeId, err) => options.logger.error({ err, pipeId }, "a replication slot could not be looked at"),
    });
  }

  /** One look at each; a source that does not answer holds up nobody else. */
  async pass(): Promise<void> {
    const all = [...(await this.#options.leftovers.inUse("slot")), ...(await this.#given())];
    const slots = all.filter(({ pipeId }) => !this.#options.isLeftToOthers(pipeId));
    const ids = new Set(slots.map(({ pipeId }) => pipeId));
    for (const id of this.#watched.keys()) if (!ids.has(id)) this.#watched.delete(id);
    for (const slot of slots) {
      if (this.#tasks.isFree(slot.pipeId)) this.#tasks.run(slot.pipeId, () => this.#look(slot));
    }
  }

  /** What is known of a pipe without workers; nothing before the first look. */
  seen(pipeId: string): Seen {
    return this.#watched.get(pipeId)?.seen ?? nothing;
  }

  /** Pipes that have been looked at. */
  ids(): Iterable<string> {
    return this.#watched.keys();
  }

  async close(): Promise<void> {
    await this.#tasks.close();
  }

  /** Slots that pipes have not made are on no record. */
  async #given(): Promise<ReplicationSlot[]> {
    const found: ReplicationSlot[] = [];
    for (const kind of Object.values(sourceKinds) as SourceKind[]) {
      if (kind.given === undefined) continue;
      for (const { id, organizationId, source } of await this.#options.pipes.listOfKind(kind.key)) {
        const names = kind.given(source[kind.key] as JsonObject).filter((object) => object.kind === "slot");
        found.push(...names.map(({ name }) => ({ pipeId: id, organizationId, sourceKind: kind.key, name })));
      }
    }
    return found;
  }

  async #look(slot: ReplicationSlot): Promise<void> {
    const watched = await this.#watchedOf(slot);
    if (watched === undefined) return;
    this.#watched.set(slot.pipeId, watched);
    try {
      watched.seen = await watched.watch.look();
    } catch (error) {
      // Numbers of before say nothing of now.
      watched.seen = { gauges: {}, warning: publicMessage(error) };
    }
  }

  async #watchedOf({ pipeId, organizationId, sourceKind, name }: ReplicationSlot): Promise<Watched | undefined> {
    const pipe = await this.#options.pipes.find(pipeId);
    if (pipe === undefined) return undefined;
    const { generation } = pipe;
    const known = this.#watched.get(pipeId);
    if (known?.generation === generation) return known;
    const secrets = await this.#options.pipes.secrets(pipeId);
    if (secrets === undefined) {
      const seen = { gauges: {}, warning: sealedOtherwise(sourceKind) };
      return { generation, watch: { look: async () => seen }, seen };
    }
    const network = { policy: this.#options.policy, organizationId, ...noReads };
    const object: SourceObject = { kind: "slot", name };
    const connector = await this.#options.connectorOf(sourceKind);
    const watch = connector.watch?.(fullConfig(pipe, secrets), { network, object });
    return watch && { generation, watch, seen: nothing };
  }
}
