/** The inboxes of this process, by pipe. Each is opened when somebody first needs it. */
import { mkdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeFolder } from "../../../lib/files.ts";
import type { Logger } from "../../../lib/logger.ts";
import { Inbox } from "./inbox.ts";

export type InboxesOptions = {
  /** Contains a folder for each organization, with one for each of its pipes. */
  readonly folder: string;
  /** The offset before which everything is in the table, from the ledger. */
  readonly checkpointOf: (pipeId: string) => Promise<number>;
  readonly logger: Logger;
};

type Owner = { readonly organizationId: string; readonly pipeId: string };

export class Inboxes {
  readonly #options: InboxesOptions;
  readonly #opening = new Map<string, Promise<Inbox>>();
  readonly #open = new Map<string, Inbox>();

  constructor(options: InboxesOptions) {
    this.#options = options;
  }

  /** The folder of the organization's inboxes. It exists afterwards, so that a process can be confined to it. */
  folderOf(organizationId: string): string {
    const folder = join(this.#options.folder, organizationId);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /** The folder of all. It exists afterwards. */
  get folder(): string {
    mkdirSync(this.#options.folder, { recursive: true, mode: 0o700 });
    return this.#options.folder;
  }

  of(owner: Owner): Inbox | Promise<Inbox> {
    return this.#open.get(owner.pipeId) ?? this.#begin(owner);
  }

  /** The ids of the pipes whose inbox is open. */
  ids(): string[] {
    return [...this.#open.keys()];
  }

  /** What is not loaded, as gauges of the pipe; undefined without an open inbox. */
  gauges(pipeId: string): Readonly<Record<string, number>> | undefined {
    const inbox = this.#open.get(pipeId);
    if (inbox === undefined) return undefined;
    const { rows, bytes, ageMs, acceptedRows, keys } = inbox.depth;
    const seconds = rows === 0 ? 0 : Math.round(ageMs / 1_000);
    const lag = { lagMessages: rows, lagBytes: bytes, lagSeconds: seconds };
    return { ...lag, acceptedRows, inboxBytes: inbox.bytes, inboxKeys: keys };
  }

  /** Bytes on disk of those that are open. */
  bytesOf(pipeIds: readonly string[]): number {
    return pipeIds.reduce((sum, id) => sum + (this.#open.get(id)?.bytes ?? 0), 0);
  }

  /** Removes the inbox of a pipe that is deleted, if it has one. */
  async remove(pipeId: string): Promise<void> {
    await this.#end(pipeId);
    const { folder } = this;
    for (const organizationId of await readdir(folder)) await removeFolder(join(folder, organizationId, pipeId));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opening.keys()].map((id) => this.#end(id)));
  }

  #begin({ organizationId, pipeId }: Owner): Promise<Inbox> {
    const known = this.#opening.get(pipeId);
    if (known !== undefined) return known;
    const opening = this.#read(organizationId, pipeId);
    this.#opening.set(pipeId, opening);
    opening.catch(() => this.#opening.delete(pipeId));
    return opening;
  }

  async #read(organizationId: string, pipeId: string): Promise<Inbox> {
    const { checkpointOf, logger } = this.#options;
    const folder = join(this.folderOf(organizationId), pipeId);
    const onProblem = (err: unknown) => logger.warn({ err, pipeId }, "loaded rows could not be removed from the inbox");
    const inbox = await Inbox.open({ folder, next: await checkpointOf(pipeId), onProblem });
    this.#open.set(pipeId, inbox);
    return inbox;
  }

  async #end(pipeId: string): Promise<void> {
    const opening = this.#opening.get(pipeId);
    this.#opening.delete(pipeId);
    this.#open.delete(pipeId);
    await (await opening?.catch(() => undefined))?.close();
  }
}
