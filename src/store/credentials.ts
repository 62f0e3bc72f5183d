/**
 * API keys and access tokens. Only SHA-256 digests of their secrets are stored: the secrets are 32 random bytes, so a
 * slow password hash would add cost to every request and no strength.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type { Database, Queries } from "./database.ts";
import { type Limit, requireRoom } from "./limits.ts";
import { newSecret, sha256Hex } from "./secrets.ts";

export type CredentialState = "enabled" | "disabled";

export type KeyRow = {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly key_id: string;
  readonly secret_hash: string;
  readonly key_suffix: string;
  readonly role: string;
  readonly state: CredentialState;
  readonly expire_at: string | null;
  readonly used_at: string | null;
  readonly created_at: string;
};

export type TokenRow = {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly token_suffix: string;
  readonly state: CredentialState;
  readonly expire_at: string | null;
  readonly used_at: string | null;
  readonly created_at: string;
};

export type CredentialChange = {
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  readonly state?: CredentialState | undefined;
  /** null: never expires; undefined: unchanged. */
  readonly expireAt?: string | null | undefined;
};

export class CredentialStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async createKey(key: {
    organizationId: string;
    name: string;
    role: string;
    state: CredentialState;
    expireAt: string | null;
    /** Absent for the key that the server itself makes. */
    limit?: Limit;
  }): Promise<{ row: KeyRow; secret: string }> {
    const secret = newSecret();
    const keyId = randomBytes(15).toString("base64url");
    const row: KeyRow = {
      id: randomUUID(),
      organization_id: key.organizationId,
      name: key.name,
      key_id: keyId,
      secret_hash: sha256Hex(secret),
      key_suffix: keyId.slice(-4),
      role: key.role,
      state: key.state,
      expire_at: key.expireAt,
      used_at: null,
      created_at: new Date().toISOString(),
    };
    await this.#db.transaction(async (tx) => {
      if (key.limit !== undefined) await requireCredentialRoom(tx, "api_keys", key.organizationId, key.limit);
      await tx.run(
        `INSERT INTO api_keys (id, organization_id, name, key_id, secret_hash, key_suffix, role, state, expire_at, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[row.id, row.organization_id, row.name, row.key_id, row.secret_hash, row.key_suffix],
        ...[row.role, row.state, row.expire_at, row.created_at],
      );
    });
    return { row, secret };
  }

  findKeyByKeyId(keyId: string): Promise<KeyRow | undefined> {
    return this.#db.get("SELECT * FROM api_keys WHERE key_id = ?", keyId);
  }

  findKey(organizationId: string, id: string): Promise<KeyRow | undefined> {
    return this.#db.get("SELECT * FROM api_keys WHERE organization_id = ? AND id = ?", organizationId, id);
  }

  listKeys(organizationId: string): Promise<readonly KeyRow[]> {
    return this.#db.all("SELECT * FROM api_keys WHERE organization_id = ? ORDER BY created_at, id", organizationId);
  }

  async changeKey(id: string, change: CredentialChange): Promise<void> {
    await this.#change("api_keys", id, { ...change, role: change.role });
  }

  async deleteKey(id: string): Promise<void> {
    await this.#db.run("DELETE FROM api_keys WHERE id = ?", id);
  }

  async createToken(token: {
    organizationId: string;
    name: string;
    expireAt: string | null;
    /** Absent for the token that the server itself makes. */
    limit?: Limit;
  }): Promise<{ row: TokenRow; secret: string }> {
    const secret = newSecret();
    const row: TokenRow = {
      id: randomUUID(),
      organization_id: token.organizationId,
      name: token.name,
      token_suffix: secret.slice(-4),
      state: "enabled",
      expire_at: token.expireAt,
      used_at: null,
      created_at: new Date().toISOString(),
    };
    await this.#db.transaction(async (tx) => {
      if (token.limit !== undefined)
        await requireCredentialRoom(tx, "access_tokens", token.organizationId, token.limit);
      await tx.run(
        `INSERT INTO access_tokens (id, organization_id, name, token_hash, token_suffix, state, expire_at, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[row.id, row.organization_id, row.name, sha256Hex(secret), row.token_suffix],
        ...[row.state, row.expire_at, row.created_at],
      );
    });
    return { row, secret };
  }

  /** Looked up by digest: the comparison reveals nothing about the token itself. */
  findTokenBySecret(secret: string): Promise<TokenRow | undefined> {
    return this.#db.get("SELECT * FROM access_tokens WHERE token_hash = ?", sha256Hex(secret));
  }

  findToken(organizationId: string, id: string): Promise<TokenRow | undefined> {
    return this.#db.get("SELECT * FROM access_tokens WHERE organization_id = ? AND id = ?", organizationId, id);
  }

  listTokens(organizationId: string): Promise<readonly TokenRow[]> {
    return this.#db.all(
      "SELECT * FROM access_tokens WHERE organization_id = ? ORDER BY created_at, id",
      organizationId,
    );
  }

  async changeToken(id: string, change: Omit<CredentialChange, "role">): Promise<void> {
    await this.#change("access_tokens", id, change);
  }

  async deleteToken(id: string): Promise<void> {
    await this.#db.run("DELETE FROM access_tokens WHERE id = ?", id);
  }

  /** Notes the use of a credential, to the minute. */
  async markUsed(table: "api_keys" | "access_tokens", id: string, minute: string): Promise<void> {
    await this.#db.run(`UPDATE ${table} SET used_at = ? WHERE id = ?`, minute, id);
  }

  async #change(table: "api_keys" | "access_tokens", id: string, change: CredentialChange): Promise<void> {
    const columns = { name: change.name, role: change.role, state: change.state, expire_at: change.expireAt };
    const given = Object.entries(columns).filter(([, value]) => value !== undefined);
    if (given.length === 0) return;
    const sets = given.map(([column]) => `${column} = ?`).join(", ");
    await this.#db.run(`UPDATE ${table} SET ${sets} WHERE id = ?`, ...given.map(([, value]) => value ?? null), id);
  }
}

async function requireCredentialRoom(
  tx: Queries,
  table: "api_keys" | "access_tokens",
  organizationId: string,
  limit: Limit,
): Promise<void> {
  const present = await tx.get<{ n: number }>(
    `SELECT count(*) AS n FROM ${table} WHERE organization_id = ?`,
    organizationId,
  );
  const what = table === "api_keys" ? "keys of the organization" : "access tokens of the organization";
  requireRoom(limit, what, Number(present?.n ?? 0));
}
