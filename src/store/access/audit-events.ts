/** The audit trail: a bounded number of logins and refusals of each organization. */
import { type CountedEvent, EventCounter } from "../../lib/event-counter.ts";
import type { Logger } from "../../lib/logger.ts";
import { recordReader } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { Store } from "../database/records.ts";
import { sha256Hex } from "../database/secrets.ts";

export type AuditEventType = "login" | "login_refused" | "address_refused" | "statement_refused" | "leftover_given_up";

export type AuditEvent = {
  readonly type: AuditEventType;
  /** The organization, or else one of its services. An event with neither is only logged. */
  readonly organizationId?: string | undefined;
  readonly serviceId?: string | undefined;
  readonly actorType: "api_key" | "access_token" | "database_user";
  /** Id of the key or token, or name of the user. */
  readonly actor: string;
  readonly address: string;
  readonly detail: string;
};

/** An event of a service's endpoint, as an event of the trail. */
export function auditEventOf(
  serviceId: string,
  { type, user, address, detail }: { type: AuditEventType; user: string; address: string; detail: string },
): AuditEvent {
  return { type, serviceId, actorType: "database_user", actor: user, address, detail };
}

/** Equal events of one hour, as stored. */
export type AuditRecord = {
  readonly id: string;
  readonly serviceId: string | null;
  readonly type: AuditEventType;
  readonly actorType: AuditEvent["actorType"];
  readonly actor: string;
  readonly address: string;
  readonly detail: string;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
};

const toRecord = recordReader<Omit<AuditRecord, "id">>()(
  ["serviceId type actorType actor address detail count firstAt lastAt"],
  {},
);

/** Rows per organization and type: a flood of one type does not displace the others. */
export const mostRows = 2_500;
/** Longer texts are truncated, because they come from clients. */
const maxActor = 200;
const maxDetail = 500;

export class AuditEventStore extends Store {
  /** Adds events, equal ones of an hour into one row, and drops the oldest beyond `mostRows`. */
  async add(events: readonly CountedEvent<AuditEvent>[]): Promise<void> {
    await this.db.transaction(async (tx) => {
      const touched = new Map<string, readonly [organizationId: string, type: string]>();
      for (const counted of events) {
        const { event } = counted;
        const organizationId = event.organizationId ?? (await organizationOf(tx, event.serviceId));
        if (organizationId === undefined) continue;
        await insert(tx, organizationId, counted);
        touched.set(`${organizationId} ${event.type}`, [organizationId, event.type]);
      }
      for (const of of touched.values()) await trim(tx, ...of);
    });
  }

  /** The newest events of an organization, of one type or of all. */
  async list(organizationId: string, limit: number, type?: AuditEventType): Promise<AuditRecord[]> {
    const all = "SELECT * FROM audit_events WHERE organization_id = ?";
    const order = "ORDER BY last_at DESC, seq DESC LIMIT ?";
    const rows =
      type === undefined
        ? await this.db.all(`${all} ${order}`, organizationId, limit)
        : await this.db.all(`${all} AND type = ? ${order}`, organizationId, type, limit);
    return rows.map((row) => ({ id: String(row.seq), ...toRecord(row) }));
  }
}

/** Records events without waiting, and writes them once a second. */
export class AuditTrail {
  readonly #store: AuditEventStore;
  readonly #logger: Logger;
  readonly #counter: EventCounter<AuditEvent>;
  #writing: Promise<void> = Promise.resolve();

  constructor(store: AuditEventStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
    this.#counter = new EventCounter<AuditEvent>({
      flush: (events) => this.#write(events),
      overflow: (event) => ({ ...event, actor: "(many)", address: "(many)", detail: "" }),
    });
  }

  note(event: AuditEvent): void {
    this.#counter.note(event);
  }

  add(counted: CountedEvent<AuditEvent>): void {
    this.#counter.add(counted);
  }

  /** Resolves when everything recorded so far is written. Never rejects: what cannot be written is logged. */
  async close(): Promise<void> {
    this.#counter.flush();
    await this.#writing;
  }

  #write(events: readonly CountedEvent<AuditEvent>[]): void {
    for (const { event, count } of events) {
      if (event.type !== "login" || (event.organizationId ?? event.serviceId) === undefined) {
        this.#logger.info({ audit: event, count }, event.type);
      }
    }
    this.#writing = this.#writing
      .then(() => this.#store.add(events))
      .catch((error: unknown) => this.#logger.error({ err: error, events: events.length }, "audit trail not written"));
  }
}

async function organizationOf(tx: Queries, serviceId: string | undefined): Promise<string | undefined> {
  if (serviceId === undefined) return undefined;
  const row = await tx.get<{ organization_id: string }>("SELECT organization_id FROM services WHERE id = ?", serviceId);
  return row?.organization_id;
}

async function insert(tx: Queries, organizationId: string, { event, count, ...times }: CountedEvent<AuditEvent>) {
  const [actor, detail] = [event.actor.slice(0, maxActor), event.detail.slice(0, maxDetail)];
  const serviceId = event.serviceId ?? null;
  const facts = [organizationId, serviceId, event.type, event.actorType, actor, event.address, detail] as const;
  const hour = Math.floor(times.firstAt / 3_600_000);
  const [firstAt, lastAt] = [new Date(times.firstAt).toISOString(), new Date(times.lastAt).toISOString()];
  await tx.run(
    `INSERT INTO audit_events
       (merge_key, organization_id, service_id, type, actor_type, actor, address, detail, count, first_at, last_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (merge_key) DO UPDATE SET count = audit_events.count + excluded.count, last_at = excluded.last_at`,
    sha256Hex(JSON.stringify([...facts, hour])),
    ...facts,
    count,
    firstAt,
    lastAt,
  );
}

async function trim(tx: Queries, organizationId: string, type: string): Promise<void> {
  const of = "organization_id = ? AND type = ?";
  await tx.run(
    `DELETE FROM audit_events WHERE ${of} AND seq <=
       (SELECT seq FROM audit_events WHERE ${of} ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
    ...[organizationId, type, organizationId, type, mostRows],
  );
}
