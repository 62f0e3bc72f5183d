/**
 * Sessions of browsers and the one-time links that create them. A session acts as its API key: it ends when the key is
 * deleted, and whoever uses a session checks the key's state.
 */
import { randomUUID } from "node:crypto";
import { insertRow, recordReader } from "../database/columns.ts";
import type { Database, Queries } from "../database/database.ts";
import { Store } from "../database/records.ts";
import { newSecret, sha256Hex } from "../database/secrets.ts";

export type ConsoleSession = {
  readonly id: string;
  /** Id of the API key. */
  readonly keyId: string;
  readonly createdAt: string;
  /** With a resolution of one minute. */
  readonly lastSeenAt: string;
  /** The session ends then, or earlier when it is not used. */
  readonly expiresAt: string;
  readonly userAgent: string;
};

/** A session that was not used for this long has ended. */
const idleMs = 12 * 3_600_000;
const longestMs = 7 * 24 * 3_600_000;
const linkMs = 10 * 60_000;
/** Per key; the least recently used session and the oldest link make room. */
const maxPerKey = 100;
const maxUserAgent = 300;

/** A LIMIT that none reaches: Postgres knows no negative one. */
const everyRow = Number.MAX_SAFE_INTEGER;

const live = "last_seen_at > ? AND expires_at > ?";

export class ConsoleSessionStore extends Store {
  readonly #now: () => number;

  constructor(db: Database, now: () => number = Date.now) {
    super(db);
    this.#now = now;
  }

  /** Creates a link's token, which is valid once and for ten minutes. */
  async createLink(keyId: string): Promise<{ readonly token: string; readonly expiresAt: string }> {
    const token = newSecret();
    const expiresAt = this.#time(linkMs);
    await this.db.transaction(async (tx) => {
      await tx.run("DELETE FROM console_links WHERE expires_at <= ?", this.#time());
      await tx.run(
        `DELETE FROM console_links WHERE token_hash IN
           (SELECT token_hash FROM console_links WHERE key_id = ? ORDER BY expires_at DESC LIMIT ${everyRow} OFFSET ?)`,
        ...[keyId, maxPerKey - 1],
      );
      await insertRow(tx, "console_links", { tokenHash: sha256Hex(token), keyId, expiresAt });
    });
    return { token, expiresAt };
  }

  /** The id of the link's key; the link cannot be used again. Undefined for an unknown, used or expired token. */
  async useLink(token: string): Promise<string | undefined> {
    const hash = sha256Hex(token);
    return await this.db.transaction(async (tx) => {
      const one = "SELECT key_id FROM console_links WHERE token_hash = ? AND expires_at > ?";
      const row = await tx.get<{ key_id: string }>(one, hash, this.#time());
      await tx.run("DELETE FROM console_links WHERE token_hash = ?", hash);
      return row?.key_id;
    });
  }

  /** Creates a session. `value` is the content of its cookie, and is not stored. */
  async create(
    keyId: string,
    userAgent: string,
  ): Promise<{ readonly session: ConsoleSession; readonly value: string }> {
    const value = newSecret();
    const now = this.#time();
    const session: ConsoleSession = {
      id: randomUUID(),
      keyId,
      createdAt: now,
      lastSeenAt: now,
      expiresAt: this.#time(longestMs),
      userAgent: userAgent.slice(0, maxUserAgent),
    };
    await this.db.transaction(async (tx) => {
      await this.#makeRoom(tx, keyId);
      await insertRow(tx, "console_sessions", { ...session, valueHash: sha256Hex(value) });
    });
    return { session, value };
  }

  /** Looked up by digest: the comparison reveals nothing about the value. Undefined when the session has ended. */
  async findByValue(value: string): Promise<ConsoleSession | undefined> {
    const one = `SELECT * FROM console_sessions WHERE value_hash = ? AND ${live}`;
    const row = await this.db.get(one, sha256Hex(value), ...this.#liveBounds());
    return row && toSession(row);
  }

  /** Sessions of one key or of all keys of an organization, most recently used first. */
  async list(organizationId: string, keyId?: string): Promise<ConsoleSession[]> {
    const rows = await this.db.all(
      `SELECT s.* FROM console_sessions s JOIN api_keys k ON k.id = s.key_id
       WHERE k.organization_id = ? AND (CAST(? AS TEXT) IS NULL OR s.key_id = ?) AND ${live}
       ORDER BY s.last_seen_at DESC, s.created_at DESC, s.id`,
      ...[organizationId, keyId ?? null, keyId ?? null, ...this.#liveBounds()],
    );
    return rows.map(toSession);
  }

  /** Records the use of a session, with a resolution of one minute. */
  async markSeen(session: ConsoleSession): Promise<void> {
    const minute = new Date(Math.floor(this.#now() / 60_000) * 60_000).toISOString();
    if (minute <= session.lastSeenAt) return;
    await this.db.run("UPDATE console_sessions SET last_seen_at = ? WHERE id = ?", minute, session.id);
  }

  async delete(id: string): Promise<void> {
    await this.db.run("DELETE FROM console_sessions WHERE id = ?", id);
  }

  async #makeRoom(tx: Queries, keyId: string): Promise<void> {
    await tx.run(`DELETE FROM console_sessions WHERE NOT (${live})`, ...this.#liveBounds());
    await tx.run(
      `DELETE FROM console_sessions WHERE id IN
         (SELECT id FROM console_sessions WHERE key_id = ? ORDER BY last_seen_at DESC, created_at DESC LIMIT ${everyRow} OFFSET ?)`,
      ...[keyId, maxPerKey - 1],
    );
  }

  #liveBounds(): [lastSeenAfter: string, expiresAfter: string] {
    return [this.#time(-idleMs), this.#time()];
  }

  #time(addedMs = 0): string {
    return new Date(this.#now() + addedMs).toISOString();
  }
}

const toSession = recordReader<ConsoleSession>()(["id keyId createdAt lastSeenAt expiresAt userAgent"], {});
