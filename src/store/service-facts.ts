/** What lists show of services beside their own rows: pipes and backups, counted for all services at once. */
import type { BackupStatus, Verification } from "./backups.ts";
import type { Database } from "./database.ts";

export type LastBackup = {
  readonly id: string;
  readonly name: string;
  readonly status: BackupStatus;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly verification: Verification;
  readonly verifiedAt: string | null;
  readonly deepVerifiedAt: string | null;
};

export type ServiceFacts = {
  /** Without pipes whose deletion was requested; `running` counts the states Running and Snapshot. */
  readonly pipes: { readonly total: number; readonly running: number };
  /** The backup that began last, whatever became of it; undefined: there is none. */
  readonly lastBackup: LastBackup | undefined;
};

const noFacts: ServiceFacts = { pipes: { total: 0, running: 0 }, lastBackup: undefined };

export class ServiceFactsStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The facts of any service of the organization, by id. */
  async of(organizationId: string): Promise<(serviceId: string) => ServiceFacts> {
    const pipes = await this.#db.all<{ id: string; total: number; running: number }>(
      `SELECT service_id AS id, count(*) AS total, sum(pipes.state IN ('Running', 'Snapshot')) AS running
       FROM pipes JOIN services ON services.id = service_id
       WHERE organization_id = ? AND pipes.desired_state <> 'deleted' GROUP BY service_id`,
      organizationId,
    );
    // SQLite takes the other columns from the row with the maximum.
    const backups = await this.#db.all<LastBackup & { serviceId: string; latest: string }>(
      `SELECT service_id AS serviceId, id, name, status, finished_at AS finishedAt, verification,
         verified_at AS verifiedAt, deep_verified_at AS deepVerifiedAt, started_at AS startedAt, max(started_at) AS latest
       FROM backups WHERE organization_id = ? AND status <> 'deleting' GROUP BY service_id`,
      organizationId,
    );
    const counts = new Map(pipes.map(({ id, total, running }) => [id, { total, running }]));
    const last = new Map(backups.map(({ serviceId, latest: _, ...backup }) => [serviceId, backup]));
    return (id) => ({ pipes: counts.get(id) ?? noFacts.pipes, lastBackup: last.get(id) });
  }
}
