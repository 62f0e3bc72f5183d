/** What lists show of services beside their own rows: pipes and backups, counted for all services at once. */
import type { BackupStatus, Verification } from "../backups/backups.ts";
import { Store } from "../database/records.ts";

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

export class ServiceFactsStore extends Store {
  /** The facts of any service of the organization, by id. */
  async of(organizationId: string): Promise<(serviceId: string) => ServiceFacts> {
    const pipes = await this.db.all<{ id: string; total: number; running: number }>(
      `SELECT service_id AS id, count(*) AS total, sum(CASE WHEN pipes.state IN ('Running', 'Snapshot') THEN 1 ELSE 0 END) AS running
       FROM pipes JOIN services ON services.id = service_id
       WHERE organization_id = ? AND pipes.desired_state <> 'deleted' GROUP BY service_id`,
      organizationId,
    );
    const backups = await this.db.all<LastBackup & { serviceId: string }>(
      `SELECT service_id AS "serviceId", id, name, status, finished_at AS "finishedAt", verification,
         verified_at AS "verifiedAt", deep_verified_at AS "deepVerifiedAt", started_at AS "startedAt"
       FROM (SELECT *, row_number() OVER (PARTITION BY service_id ORDER BY started_at DESC, id) AS place
             FROM backups WHERE organization_id = ? AND status <> 'deleting') AS newest WHERE place = 1`,
      organizationId,
    );
    const counts = new Map(pipes.map(({ id, total, running }) => [id, { total, running }]));
    const last = new Map(backups.map(({ serviceId, ...backup }) => [serviceId, backup]));
    return (id) => ({ pipes: counts.get(id) ?? noFacts.pipes, lastBackup: last.get(id) });
  }
}
