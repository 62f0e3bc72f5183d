/**
 * Finds the file whose bytes end the engine, or keep it busy for ever: its readers are native code. Each file of a
 * batch is read alone, as the batch reads it, and nothing is inserted.
 */
import { ClickHouseError } from "../../../clickhouse/client.ts";
import type { SlowInsert } from "../../contract/slow-insert.ts";
import type { DestinationAccess } from "../../contract/source.ts";
import type { Pack } from "../declaration/durable.ts";
import type { ObjectFile } from "../stores/store.ts";
import { type ObjectStatements, slowReading } from "./reading.ts";

/** An engine may also end for another reason while a file is read. */
const deathsToBlame = 2;

/** What one file of a batch needs is far less. An engine that cannot end the statement by then is ended by its host. */
const readSeconds = 60;

type Progress = { next: number; deaths: number; crashes: number | undefined };

export class CrashProbe {
  readonly #reading: Pick<ObjectStatements, "read" | "nameOf">;
  readonly #destination: Pick<DestinationAccess, "query" | "crashes">;
  /** By batch: a probe begins where the one before it was ended, together with the engine. */
  readonly #progress = new Map<string, Progress>();

  constructor(
    reading: Pick<ObjectStatements, "read" | "nameOf">,
    destination: Pick<DestinationAccess, "query" | "crashes">,
  ) {
    this.#reading = reading;
    this.#destination = destination;
  }

  /**
   * The first of the files that ends the engine each time it is read; undefined: none does. Rejects when the engine has
   * ended or cannot be asked: then it is to be called again.
   */
  async culprit(batch: string, pack: Omit<Pack, "folder">, signal: AbortSignal): Promise<ObjectFile | undefined> {
    const { files } = pack;
    const at = this.#progress.get(batch) ?? { next: 0, deaths: 0, crashes: undefined };
    this.#progress.set(batch, at);
    for (let file = files[at.next]; file !== undefined; file = files[at.next]) {
      const now = await this.#destination.crashes();
      if (now > (at.crashes ?? now)) at.deaths += 1;
      at.crashes = now;
      if (at.deaths >= deathsToBlame) break;
      await this.#read(file, pack, signal);
      Object.assign(at, { next: at.next + 1, deaths: 0, crashes: undefined });
    }
    this.#progress.delete(batch);
    return files[at.next];
  }

  /** Looks for a file that keeps the engine busy, when the insert of a batch takes too long. */
  slow(batch: string, { folder: _, ...pack }: Pack): SlowInsert {
    const names = pack.files.map((file) => this.#reading.nameOf(file));
    return { ...slowReading(names), look: async (signal) => void (await this.culprit(batch, pack, signal)) };
  }

  /** An error of the engine is an answer. */
  async #read(file: ObjectFile, pack: Omit<Pack, "folder">, signal: AbortSignal): Promise<void> {
    const { sql, params, settings } = await this.#reading.read([file], pack.format, pack, signal);
    try {
      const bounded = { ...settings, max_execution_time: readSeconds };
      await this.#destination.query(`${sql} FORMAT Null`, { params, settings: bounded });
    } catch (error) {
      if (!(error instanceof ClickHouseError)) throw error;
    }
  }
}
