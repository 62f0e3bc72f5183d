/** Alerts of organizations: what is wanted of them, and what was observed. */
import { randomUUID } from "node:crypto";
import type { AlertDefinition, AlertError, alertStates } from "../../api/alerts.ts";
import { columnsOf, insertRow, readPlainJson, recordReader } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { type Limit, requireRoom } from "../database/limits.ts";
import { countRows, findRecord, type ListPart, listRecords, Store } from "../database/records.ts";
import {
  deleteVersioned,
  type ExpectedVersions,
  updateVersioned,
  type VersionedRecord,
} from "../database/versioned-rows.ts";

/** The state that an evaluation finds, which is never DISABLED. */
export type AlertState = Exclude<(typeof alertStates)[number], "DISABLED">;

export type Alert = {
  readonly id: string;
  readonly organizationId: string;
  readonly definition: AlertDefinition;
  readonly state: AlertState;
  readonly stateMessage: string | null;
  readonly stateChangedAt: string;
  /** The state that was told last; OK before the first one. */
  readonly notifiedState: "ALERT" | "OK";
  /** Windows in a row that fulfilled the condition. */
  readonly firingWindows: number;
  /** End of the last window that was evaluated. */
  readonly evaluatedUntil: string | null;
  /** The version of that evaluation. */
  readonly evaluatedVersion: number | null;
  readonly errors: readonly AlertError[];
  /** Counters as of the last evaluation; null: it counted nothing. */
  readonly totals: Readonly<Record<string, number>> | null;
  /** Raised by every replacement. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
};

const toAlert = recordReader<Alert>()(
  [
    "id organizationId definition state stateMessage stateChangedAt notifiedState firingWindows evaluatedUntil",
    "evaluatedVersion errors totals version createdAt updatedAt",
  ],
  { definition: readPlainJson, errors: readPlainJson, totals: readPlainJson },
);
const alerts = { table: "alerts", read: toAlert };

export class AlertStore extends Store {
  /** What the definition names must exist. Throws LIMIT_REACHED. */
  async create(organizationId: string, definition: AlertDefinition, limit: Limit): Promise<Alert> {
    const [id, now] = [randomUUID(), new Date().toISOString()];
    await this.db.transaction(async (tx) => {
      const present = await countRows(tx, "alerts", "WHERE organization_id = ?", organizationId);
      requireRoom(limit, "alerts of the organization", present);
      await requireDocument(tx, organizationId, definition);
      await insertRow(tx, "alerts", {
        ...{ id, organizationId, ...wantedMembers(organizationId, definition) },
        state: "INSUFFICIENT_DATA",
        stateMessage: "It was not evaluated yet.",
        notifiedState: "OK",
        errors: [],
        version: 1,
        ...{ stateChangedAt: now, createdAt: now, updatedAt: now },
      });
    });
    return (await this.find(organizationId, id)) as Alert;
  }

  /** Oldest first. */
  async list(organizationId: string, { limit, offset }: ListPart): Promise<Alert[]> {
    const page = "WHERE organization_id = ? ORDER BY created_at, id LIMIT ? OFFSET ?";
    return await listRecords(this.db, alerts, page, organizationId, limit, offset);
  }

  /** Those of every organization that are to be evaluated. */
  async listEnabled(): Promise<Alert[]> {
    return await listRecords(this.db, alerts, "WHERE is_enabled = 1 ORDER BY id");
  }

  async count(organizationId: string): Promise<number> {
    return await countRows(this.db, "alerts", "WHERE organization_id = ?", organizationId);
  }

  async find(organizationId: string, id: string): Promise<Alert | undefined> {
    return await findRecord(this.db, alerts, "WHERE organization_id = ? AND id = ?", organizationId, id);
  }

  /** Returns the new alert, or undefined when there is none with this id. Throws PRECONDITION_FAILED. */
  async replace(
    organizationId: string,
    id: string,
    definition: AlertDefinition,
    expected?: ExpectedVersions,
  ): Promise<Alert | undefined> {
    const columns = columnsOf({ ...wantedMembers(organizationId, definition), updatedAt: new Date().toISOString() });
    await this.db.transaction(async (tx) => {
      await requireDocument(tx, organizationId, definition);
      await updateVersioned(tx, alertRow(organizationId, id), columns, expected);
    });
    return await this.find(organizationId, id);
  }

  /** Returns whether there was such an alert. Throws PRECONDITION_FAILED. */
  async delete(organizationId: string, id: string, expected?: ExpectedVersions): Promise<boolean> {
    return await deleteVersioned(this.db, alertRow(organizationId, id), expected);
  }
}

function alertRow(organizationId: string, id: string): VersionedRecord {
  return { table: "alerts", what: "alert", key: { organization_id: organizationId, id } };
}

/**
 * Every alert names a document of its organization, with which it goes. Alerts of states share one, of a kind that no
 * list shows: the column cannot become empty without a migration that earlier versions do not survive.
 */
async function requireDocument(tx: Queries, organizationId: string, { source }: AlertDefinition): Promise<void> {
  if (source !== "state") return;
  const now = new Date().toISOString();
  await insertRow(
    tx,
    "saved_objects",
    {
      ...{ id: statesOf(organizationId), organizationId, kind: "states", name: "States", content: {}, version: 1 },
      ...{ createdBy: "", updatedBy: "", createdAt: now, updatedAt: now },
    },
    "ON CONFLICT (id) DO NOTHING",
  );
}

function statesOf(organizationId: string): string {
  return `states of ${organizationId}`;
}

function wantedMembers(organizationId: string, definition: AlertDefinition) {
  const { source, savedSearchId = "", dashboardId = "", channel, enabled } = definition;
  const documents = { saved_search: savedSearchId, tile: dashboardId, state: statesOf(organizationId) };
  return {
    documentId: documents[source],
    webhookId: channel.webhookId,
    definition,
    isEnabled: enabled,
  };
}
