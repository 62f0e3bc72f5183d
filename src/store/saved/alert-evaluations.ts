/**
 * What evaluations of alerts found, and the changes of state that a webhook is still to be told. An evaluation and its
 * notification are one transaction: whatever is killed when, a change has one notification, with one id.
 */
import { randomUUID } from "node:crypto";
import type { AlertError, AlertEvaluation, AlertReading } from "../../api/alerts.ts";
import { readPlainJson, recordReader } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { listRecords, Store, upsertRow } from "../database/records.ts";
import type { Alert, AlertState } from "./alerts.ts";

/** The result of one window. */
export type AlertFinding = {
  readonly windowStart: string;
  readonly windowEnd: string;
  readonly state: AlertState;
  readonly message: string | null;
  readonly readings: readonly AlertReading[];
  readonly firingWindows: number;
  readonly errors: readonly AlertError[];
  /** Counters that the next evaluation subtracts; undefined: those of before are kept. */
  readonly totals?: Readonly<Record<string, number>>;
};

/** A change of state as it is told; kept until it was. */
export type AlertEvent = {
  /** The same in every attempt. */
  readonly eventId: string;
  readonly alertId: string;
  readonly alertName: string;
  readonly state: "ALERT" | "OK";
  readonly message: string;
  readonly startTime: string;
  readonly endTime: string;
  readonly threshold: number;
  readonly thresholdType: string;
  readonly readings: readonly AlertReading[];
};

export type AlertNotification = {
  readonly id: string;
  readonly alertId: string;
  readonly organizationId: string;
  readonly webhookId: string;
  readonly event: AlertEvent;
  /** Those that have failed. */
  readonly attempts: number;
};

const toEvaluation = recordReader<AlertEvaluation>()(["windowStart windowEnd evaluatedAt state message readings"], {
  readings: readPlainJson,
});
const evaluations = { table: "alert_evaluations", read: toEvaluation };

const toNotification = recordReader<AlertNotification>()(["id alertId organizationId webhookId event attempts"], {
  event: readPlainJson,
});

const keptEvaluations = 500;
const keptErrors = 10;

export class AlertEvaluations extends Store {
  /**
   * Writes what a window gave, and the notification `tell` makes of it if the state differs from the one that was told
   * last. Returns false, and writes nothing, when the alert was replaced or evaluated meanwhile.
   */
  async record(
    alert: Alert,
    finding: AlertFinding,
    tell: (state: "ALERT" | "OK") => Omit<AlertEvent, "eventId">,
  ): Promise<boolean> {
    const now = new Date().toISOString();
    const { state, windowStart, windowEnd } = finding;
    const totals = finding.totals ?? alert.totals;
    const told = state !== "INSUFFICIENT_DATA" && state !== alert.notifiedState ? state : undefined;
    return await this.db.transaction(async (tx) => {
      const changed = await tx.run(
        `UPDATE alerts SET state = ?, state_message = ?, state_changed_at = ?, notified_state = ?, firing_windows = ?,
           evaluated_until = ?, evaluated_version = version, errors = ?, totals = ?
         WHERE id = ? AND version = ? AND is_enabled = 1
           AND (evaluated_until IS NULL OR evaluated_until < ? OR evaluated_version <> version)`,
        ...[state, finding.message, state === alert.state ? alert.stateChangedAt : now, told ?? alert.notifiedState],
        ...[finding.firingWindows, windowEnd, JSON.stringify(finding.errors), totals && JSON.stringify(totals)],
        ...[alert.id, alert.version, windowEnd],
      );
      if (changed === 0) return false;
      const { message, readings } = finding;
      const found = { windowStart, state, message, readings, evaluatedAt: now };
      await upsertRow(tx, "alert_evaluations", { alertId: alert.id, windowEnd }, found);
      await forgetOld(tx, alert.id);
      if (told !== undefined) {
        const eventId = randomUUID();
        await tx.run(
          `INSERT INTO alert_notifications (id, alert_id, position, event, next_attempt_at, created_at)
           SELECT ?, ?, coalesce(max(position), 0) + 1, ?, ?, ? FROM alert_notifications WHERE alert_id = ?`,
          ...[eventId, alert.id, JSON.stringify({ eventId, ...tell(told) }), now, now, alert.id],
        );
      }
      return true;
    });
  }

  /** Writes why the window is not evaluated yet. The same reason is not written twice. */
  async recordDelay(
    alert: Alert,
    { message, errors }: { readonly message: string; readonly errors: readonly AlertError[] },
  ): Promise<void> {
    if (alert.state === "INSUFFICIENT_DATA" && alert.stateMessage === message) return;
    const changedAt = alert.state === "INSUFFICIENT_DATA" ? alert.stateChangedAt : new Date().toISOString();
    await this.db.run(
      `UPDATE alerts SET state = 'INSUFFICIENT_DATA', state_message = ?, state_changed_at = ?, errors = ?
       WHERE id = ? AND version = ? AND is_enabled = 1`,
      ...[message, changedAt, JSON.stringify(errors), alert.id, alert.version],
    );
  }

  /** Newest first. */
  async list(alertId: string, limit: number): Promise<AlertEvaluation[]> {
    const newest = "WHERE alert_id = ? ORDER BY window_end DESC LIMIT ?";
    return await listRecords(this.db, evaluations, newest, alertId, limit);
  }

  /** The oldest notification of each alert, if it is due. */
  async due(now: string): Promise<AlertNotification[]> {
    const rows = await this.db.all(
      `SELECT n.id, n.alert_id, a.organization_id, a.webhook_id, n.event, n.attempts
       FROM alert_notifications n JOIN alerts a ON a.id = n.alert_id
       WHERE n.next_attempt_at <= ? AND NOT EXISTS (
         SELECT 1 FROM alert_notifications o WHERE o.alert_id = n.alert_id AND o.position < n.position)
       ORDER BY n.created_at, n.id LIMIT 1000`,
      now,
    );
    return rows.map(toNotification);
  }

  /** The webhook has confirmed it. */
  async delivered(id: string): Promise<void> {
    await this.db.run("DELETE FROM alert_notifications WHERE id = ?", id);
  }

  /** It was not delivered: the reason is shown with the alert. It is tried again, or given up without a time. */
  async failed(notification: AlertNotification, message: string, nextAttemptAt: string | undefined): Promise<void> {
    await this.db.transaction(async (tx) => {
      const error = { timestamp: new Date().toISOString(), type: "WEBHOOK_ERROR", message };
      const one = "SELECT errors FROM alerts WHERE id = ?";
      const row = await tx.get<{ errors: string }>(one, notification.alertId);
      const errors = [error, ...(JSON.parse(row?.errors ?? "[]") as AlertError[])].slice(0, keptErrors);
      await tx.run("UPDATE alerts SET errors = ? WHERE id = ?", JSON.stringify(errors), notification.alertId);
      if (nextAttemptAt === undefined) {
        await tx.run("DELETE FROM alert_notifications WHERE id = ?", notification.id);
        return;
      }
      await tx.run(
        "UPDATE alert_notifications SET attempts = attempts + 1, next_attempt_at = ? WHERE id = ?",
        ...[nextAttemptAt, notification.id],
      );
    });
  }
}

async function forgetOld(tx: Queries, alertId: string): Promise<void> {
  await tx.run(
    `DELETE FROM alert_evaluations WHERE alert_id = ? AND window_end < (
       SELECT min(window_end) FROM (
         SELECT window_end FROM alert_evaluations WHERE alert_id = ? ORDER BY window_end DESC LIMIT ${keptEvaluations}
       ) kept)`,
    ...[alertId, alertId],
  );
}
