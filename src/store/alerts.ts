/** Alerts of organizations: what is wanted of them, and what was observed. */
import { randomUUID } from "node:crypto";
import type { AlertDefinition, AlertError, alertStates } from "../api/alerts.ts";
import type { Database, Queries } from "./database.ts";
import { type Limit, requireRoom } from "./limits.ts";
import { deleteVersioned, updateVersioned, type VersionedRecord } from "./versioned-rows.ts";
import type { ExpectedVersions } from "./versions.ts";

/** Of an evaluation: DISABLED is none. */
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

type AlertRow = {
  readonly id: string;
  readonly organization_id: string;
  readonly definition: string;
  readonly state: AlertState;
  readonly state_message: string | null;
  readonly state_changed_at: string;
  readonly notified_state: "ALERT" | "OK";
  readonly firing_windows: number;
  readonly evaluated_until: string | null;
  readonly evaluated_version: number | null;
  readonly errors: string;
  readonly totals: string | null;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
};

export class AlertStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** What the definition names must exist. Throws LIMIT_REACHED. */
  async create(organizationId: string, definition: AlertDefinition, limit: Limit): Promise<Alert> {
    const [id, now] = [randomUUID(), new Date().toISOString()];
    await this.#db.transaction(async (tx) => {
      const counting = "SELECT count(*) AS n FROM alerts WHERE organization_id = ?";
      const present = await tx.get<{ n: number }>(counting, organizationId);
      requireRoom(limit, "alerts of the organization", Number(present?.n ?? 0));
      await requireDocument(tx, organizationId, definition);
      await tx.run(
        `INSERT INTO alerts (id, organization_id, document_id, webhook_id, definition, is_enabled, state, state_message,
           state_changed_at, notified_state, errors, version, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, 'INSUFFICIENT_DATA', 'It was not evaluated yet.', ?, 'OK', '[]', 1, ?, ?)`,
        ...[id, organizationId, ...Object.values(wantedColumns(organizationId, definition)), now, now, now],
      );
    });
    return (await this.find(organizationId, id)) as Alert;
  }

  /** Oldest first. */
  async list(
    organizationId: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<Alert[]> {
    const page = "SELECT * FROM alerts WHERE organization_id = ? ORDER BY created_at, id LIMIT ? OFFSET ?";
    return (await this.#db.all<AlertRow>(page, organizationId, limit, offset)).map(toAlert);
  }

  /** Those of every organization that are to be evaluated. */
  async listEnabled(): Promise<Alert[]> {
    return (await this.#db.all<AlertRow>("SELECT * FROM alerts WHERE is_enabled = 1 ORDER BY id")).map(toAlert);
  }

  async count(organizationId: string): Promise<number> {
    const counting = "SELECT count(*) AS n FROM alerts WHERE organization_id = ?";
    return Number((await this.#db.get<{ n: number }>(counting, organizationId))?.n ?? 0);
  }

  async find(organizationId: string, id: string): Promise<Alert | undefined> {
    const one = "SELECT * FROM alerts WHERE organization_id = ? AND id = ?";
    const row = await this.#db.get<AlertRow>(one, organizationId, id);
    return row && toAlert(row);
  }

  /** Returns the new alert, or undefined when there is none with this id. Throws PRECONDITION_FAILED. */
  async replace(
    organizationId: string,
    id: string,
    definition: AlertDefinition,
    expected?: ExpectedVersions,
  ): Promise<Alert | undefined> {
    const columns = { ...wantedColumns(organizationId, definition), updated_at: new Date().toISOString() };
    await this.#db.transaction(async (tx) => {
      await requireDocument(tx, organizationId, definition);
      await updateVersioned(tx, alertRow(organizationId, id), columns, expected);
    });
    return await this.find(organizationId, id);
  }

  /** Returns whether there was such an alert. Throws PRECONDITION_FAILED. */
  async delete(organizationId: string, id: string, expected?: ExpectedVersions): Promise<boolean> {
    return await deleteVersioned(this.#db, alertRow(organizationId, id), expected);
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
  await tx.run(
    `INSERT INTO saved_objects (id, organization_id, kind, name, content, version, created_by, updated_by, created_at,
       updated_at) VALUES (?, ?, 'states', 'States', '{}', 1, '', '', ?, ?) ON CONFLICT (id) DO NOTHING`,
    ...[statesOf(organizationId), organizationId, now, now],
  );
}

function statesOf(organizationId: string): string {
  return `states of ${organizationId}`;
}

/** In the order in which `create` inserts them. */
function wantedColumns(organizationId: string, definition: AlertDefinition) {
  const { source, savedSearchId = "", dashboardId = "", channel, enabled } = definition;
  const documents = { saved_search: savedSearchId, tile: dashboardId, state: statesOf(organizationId) };
  return {
    document_id: documents[source],
    webhook_id: channel.webhookId,
    definition: JSON.stringify(definition),
    is_enabled: enabled ? 1 : 0,
  };
}

function toAlert(row: AlertRow): Alert {
  return {
    id: row.id,
    organizationId: row.organization_id,
    definition: JSON.parse(row.definition) as AlertDefinition,
    state: row.state,
    stateMessage: row.state_message,
    stateChangedAt: row.state_changed_at,
    notifiedState: row.notified_state,
    firingWindows: row.firing_windows,
    evaluatedUntil: row.evaluated_until,
    evaluatedVersion: row.evaluated_version,
    errors: JSON.parse(row.errors) as AlertError[],
    totals: row.totals === null ? null : (JSON.parse(row.totals) as Record<string, number>),
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
