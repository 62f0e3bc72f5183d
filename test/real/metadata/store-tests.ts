/** The tests of the store, and some of the API, once more on a Postgres server. */
import { afterAll, describe, test } from "vitest";
import { type PostgresVersion, postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { storesOnPostgres } from "../../../harness/stores.ts";

const files = {
  database: () => import("../../../src/store/database/database.test.ts"),
  "grouped writes": () => import("../../../src/store/database/grouped-writes.test.ts"),
  ledger: () => import("../../../src/store/pipes/ledger.test.ts"),
  "writes of the ledger": () => import("../../../src/store/pipes/ledger-writes.test.ts"),
  leases: () => import("../../../src/store/nodes/leases.test.ts"),
  "pipe batches": () => import("../../../src/store/pipes/pipe-batches.test.ts"),
  "audit events": () => import("../../../src/store/access/audit-events.test.ts"),
  "console sessions": () => import("../../../src/store/access/console-sessions.test.ts"),
  "service connections": () => import("../../../src/store/services/service-connections.test.ts"),
  "copies of tables": () => import("../../../src/store/database/copy-tables.test.ts"),
  "moves of services": () => import("../../../src/store/services/service-moves.test.ts"),
  positions: () => import("../../../src/backups/positions.test.ts"),
  leftovers: () => import("../../../src/pipes/control/cleanup/leftovers.test.ts"),
  "API of pipes": () => import("../../api/pipes.test.ts"),
  "API of lists of pipes": () => import("../../api/pipe-lists.test.ts"),
  "API of refused rows": () => import("../../api/pipe-errors.test.ts"),
  "API of services": () => import("../../api/services.test.ts"),
  "API of backups": () => import("../../api/backups.test.ts"),
  "API of versions": () => import("../../api/if-match.test.ts"),
  "API of saved objects": () => import("../../api/saved-objects.test.ts"),
  "API of saved searches and dashboards": () => import("../../api/saved-documents.test.ts"),
  "API of alerts": () => import("../../api/alerts.test.ts"),
  "notifications of alerts": () => import("../../../src/alerts/delivery.test.ts"),
  "API of activities": () => import("../../api/activities.test.ts"),
  "API of ClickHouse Cloud": () => import("../../api/cloud-pipes.test.ts"),
};

/** Registers the tests; or one that is skipped with the reason, where the version is not installed. */
export async function testOnPostgres(version: PostgresVersion): Promise<void> {
  const missing = postgresMissing(version);
  if (missing !== undefined) return test.skip(`the store on Postgres ${version}: ${missing}`, () => {});
  const server = await TestPostgres.start({ version });
  storesOnPostgres(server);
  afterAll(async () => {
    storesOnPostgres(undefined);
    await server[Symbol.asyncDispose]();
  });
  for (const [name, load] of Object.entries(files)) {
    // A suite for each file, whose hooks are for its own tests.
    describe(`${name} on Postgres ${version}`, async () => {
      await load();
    });
  }
}
