/** What each process says about the pipes that it runs, for the other processes of the installation. */
import type { Queries } from "../database/database.ts";
import { Store } from "../database/records.ts";

export type PipeReport = {
  readonly workers: number;
  readonly gauges: Readonly<Record<string, number>>;
  /** What is known of the source of a pipe without workers that somebody should look at. */
  readonly warning?: string | undefined;
};

type Row = {
  readonly pipe_id: string;
  readonly workers: number;
  readonly gauges: string;
  readonly warning: string | null;
};

const mostRows = 200;

export class PipeReports extends Store {
  /** Writes some reports of a process, and removes those of other pipes. */
  async write(holder: string, reports: ReadonlyMap<string, PipeReport>, gone: readonly string[]): Promise<void> {
    const rows = [...reports];
    await this.db.transaction(async (tx) => {
      for (let at = 0; at < rows.length; at += mostRows) await upsert(tx, holder, rows.slice(at, at + mostRows));
      const remove = "DELETE FROM pipe_reports WHERE pipe_id = ? AND holder = ?";
      await Promise.all(gone.map((id) => tx.run(remove, id, holder)));
    });
  }

  /** Those of other processes that were there lately. */
  async ofOthers(holder: string): Promise<Map<string, PipeReport>> {
    const rows = await this.db.all<Row>(
      `SELECT pipe_id, workers, gauges, warning FROM pipe_reports JOIN nodes ON nodes.id = pipe_reports.holder
       WHERE holder <> ? AND nodes.expires_at > ${this.db.nowMs}`,
      holder,
    );
    return new Map(rows.map((row) => [row.pipe_id, reportOf(row)]));
  }
}

async function upsert(tx: Queries, holder: string, rows: readonly (readonly [string, PipeReport])[]): Promise<void> {
  await tx.run(
    `INSERT INTO pipe_reports (pipe_id, holder, workers, gauges, warning)
     VALUES ${rows.map(() => "(?, ?, ?, ?, ?)").join(", ")}
     ON CONFLICT (pipe_id) DO UPDATE SET holder = excluded.holder, workers = excluded.workers,
       gauges = excluded.gauges, warning = excluded.warning`,
    ...rows.flatMap(([id, { workers, gauges, warning }]) => [
      ...[id, holder, workers, JSON.stringify(gauges), warning ?? null],
    ]),
  );
}

function reportOf({ workers, gauges, warning }: Row): PipeReport {
  const read = { workers, gauges: JSON.parse(gauges) as Record<string, number> };
  return warning === null ? read : { ...read, warning };
}
