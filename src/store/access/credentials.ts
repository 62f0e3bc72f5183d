/**
 * API keys and access tokens. Only SHA-256 digests of their secrets are stored: the secrets are 32 random bytes, so a
 * slow password hash would add cost to every request and no strength.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type { AccessListEntry } from "../../api/ip-access.ts";
import type { KeyRole, PushLimits } from "../../api/keys.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import { columnsOf, insertRow, recordReader } from "../database/columns.ts";
import type { Queries, StoredColumns } from "../database/database.ts";
import { type Limit, requireRoom } from "../database/limits.ts";
import { countRows, findRecord, listRecords, Store } from "../database/records.ts";
import { newSecret, sha256Hex } from "../database/secrets.ts";
import {
  deleteVersioned,
  type ExpectedVersions,
  updateVersioned,
  type VersionedRecord,
} from "../database/versioned-rows.ts";

export type CredentialState = "enabled" | "disabled";

/** The common members of keys and tokens. */
export type Credential = {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly state: CredentialState;
  readonly expireAt: string | null;
  /** Last use, to the minute. */
  readonly usedAt: string | null;
  /** Raised by every requested change. */
  readonly version: number;
  readonly createdAt: string;
};

export type ApiKey = Credential & {
  readonly keyId: string;
  /** SHA-256 of the secret, in hex. */
  readonly secretHash: string;
  readonly keySuffix: string;
  readonly role: KeyRole;
  /** Addresses and ranges from which the key is accepted; undefined: from anywhere. */
  readonly ipAccessList: readonly AccessListEntry[] | undefined;
  /** The pipe of a key with the role `push`. */
  readonly pipeId: string | undefined;
  readonly pushLimits: PushLimits | undefined;
};

export type AccessToken = Credential & { readonly tokenSuffix: string };

export type CredentialChange = {
  readonly name?: string | undefined;
  readonly role?: KeyRole | undefined;
  readonly ipAccessList?: readonly AccessListEntry[] | undefined;
  readonly pushLimits?: PushLimits | undefined;
  readonly state?: CredentialState | undefined;
  /** null: never expires; undefined: unchanged. */
  readonly expireAt?: string | null | undefined;
};

export class CredentialStore extends Store {
  async createKey(wanted: {
    organizationId: string;
    name: string;
    role: KeyRole;
    state: CredentialState;
    expireAt: string | null;
    ipAccessList?: readonly AccessListEntry[] | undefined;
    pipeId?: string | undefined;
    pushLimits?: PushLimits | undefined;
    /** Absent for the key that the server itself creates. */
    limit?: Limit;
  }): Promise<{ key: ApiKey; secret: string }> {
    const secret = newSecret();
    const keyId = randomBytes(15).toString("base64url");
    const { limit, ipAccessList, pipeId, pushLimits, ...given } = wanted;
    const key: ApiKey = {
      id: randomUUID(),
      ...given,
      ...{ ipAccessList, pipeId, pushLimits },
      keyId,
      secretHash: sha256Hex(secret),
      keySuffix: keyId.slice(-4),
      usedAt: null,
      version: 1,
      createdAt: new Date().toISOString(),
    };
    await this.db.transaction(async (tx) => {
      if (limit !== undefined) await requireCredentialRoom(tx, "api_keys", key.organizationId, limit);
      await insertRow(tx, "api_keys", { ...key, pushLimits: undefined, ...limitMembers(pushLimits) });
    });
    return { key, secret };
  }

  async findKeyByKeyId(keyId: string): Promise<ApiKey | undefined> {
    return await findRecord(this.db, keys, "WHERE key_id = ?", keyId);
  }

  async findKeyById(id: string): Promise<ApiKey | undefined> {
    return await findRecord(this.db, keys, "WHERE id = ?", id);
  }

  async findKey(organizationId: string, id: string): Promise<ApiKey | undefined> {
    return await findRecord(this.db, keys, "WHERE organization_id = ? AND id = ?", organizationId, id);
  }

  async listKeys(organizationId: string): Promise<ApiKey[]> {
    return await listRecords(this.db, keys, "WHERE organization_id = ? ORDER BY created_at, id", organizationId);
  }

  /** Throws PRECONDITION_FAILED. */
  async changeKey(id: string, change: CredentialChange, expected?: ExpectedVersions): Promise<void> {
    await this.#change("api_keys", id, change, expected);
  }

  /** Throws PRECONDITION_FAILED. */
  async deleteKey(id: string, expected?: ExpectedVersions): Promise<void> {
    await this.#delete("api_keys", id, expected);
  }

  async createToken(wanted: {
    organizationId: string;
    name: string;
    expireAt: string | null;
    /** Absent for the token that the server itself creates. */
    limit?: Limit;
  }): Promise<{ token: AccessToken; secret: string }> {
    const secret = newSecret();
    const { limit, ...given } = wanted;
    const token: AccessToken = {
      id: randomUUID(),
      ...given,
      tokenSuffix: secret.slice(-4),
      state: "enabled",
      usedAt: null,
      version: 1,
      createdAt: new Date().toISOString(),
    };
    await this.db.transaction(async (tx) => {
      if (limit !== undefined) await requireCredentialRoom(tx, "access_tokens", token.organizationId, limit);
      await insertRow(tx, "access_tokens", { ...token, tokenHash: sha256Hex(secret) });
    });
    return { token, secret };
  }

  /** Looked up by digest: the comparison reveals nothing about the token itself. */
  async findTokenBySecret(secret: string): Promise<AccessToken | undefined> {
    return await findRecord(this.db, tokens, "WHERE token_hash = ?", sha256Hex(secret));
  }

  async findToken(organizationId: string, id: string): Promise<AccessToken | undefined> {
    return await findRecord(this.db, tokens, "WHERE organization_id = ? AND id = ?", organizationId, id);
  }

  async listTokens(organizationId: string): Promise<AccessToken[]> {
    return await listRecords(this.db, tokens, "WHERE organization_id = ? ORDER BY created_at, id", organizationId);
  }

  /** Throws PRECONDITION_FAILED. */
  async changeToken(
    id: string,
    change: Omit<CredentialChange, "role" | "ipAccessList">,
    expected?: ExpectedVersions,
  ): Promise<void> {
    await this.#change("access_tokens", id, change, expected);
  }

  /** Throws PRECONDITION_FAILED. */
  async deleteToken(id: string, expected?: ExpectedVersions): Promise<void> {
    await this.#delete("access_tokens", id, expected);
  }

  /** Records the use of a credential, with a resolution of one minute. */
  async markUsed(kind: "api_key" | "access_token", id: string, minute: string): Promise<void> {
    const table = kind === "api_key" ? "api_keys" : "access_tokens";
    await this.db.run(`UPDATE ${table} SET used_at = ? WHERE id = ?`, minute, id);
  }

  async #change(table: CredentialTable, id: string, change: CredentialChange, expected: ExpectedVersions) {
    const { name, role, state, expireAt, ipAccessList, pushLimits } = change;
    const columns = columnsOf({ name, role, state, expireAt, ipAccessList, ...limitMembers(pushLimits) });
    await updateVersioned(this.db, credentialRow(table, id), columns, expected);
  }

  async #delete(table: CredentialTable, id: string, expected: ExpectedVersions): Promise<void> {
    await deleteVersioned(this.db, credentialRow(table, id), expected);
  }
}

type CredentialTable = "api_keys" | "access_tokens";

function credentialRow(table: CredentialTable, id: string): VersionedRecord {
  return { table, what: table === "api_keys" ? "key" : "access token", key: { id } };
}

async function requireCredentialRoom(tx: Queries, table: CredentialTable, organizationId: string, limit: Limit) {
  const what = table === "api_keys" ? "keys of the organization" : "access tokens of the organization";
  requireRoom(limit, what, await countRows(tx, table, "WHERE organization_id = ?", organizationId));
}

const tokens = {
  table: "access_tokens",
  read: recordReader<AccessToken>()(["id organizationId name state expireAt usedAt version createdAt tokenSuffix"], {}),
};

const toKeyWithoutLimits = recordReader<Omit<ApiKey, "pushLimits">>()(
  [
    "id organizationId name state expireAt usedAt version createdAt keyId secretHash keySuffix role ipAccessList pipeId",
  ],
  {
    ipAccessList: (json: string | null) =>
      json === null ? undefined : readJson(columnShapes.accessList, json, "access list of the key"),
    pipeId: (id: string | null) => id ?? undefined,
  },
);

function limitMembers(limits: PushLimits | undefined) {
  const { rowsPerSecond = null, bytesPerSecond = null } = limits ?? {};
  return limits && { pushRowsPerSecond: rowsPerSecond, pushBytesPerSecond: bytesPerSecond };
}

const keys = { table: "api_keys", read: toKey };

function toKey(row: StoredColumns): ApiKey {
  const { push_rows_per_second: rowsPerSecond, push_bytes_per_second: bytesPerSecond } = row;
  const given = Object.entries({ rowsPerSecond, bytesPerSecond }).filter(([, limit]) => limit !== null);
  const pushLimits = given.length === 0 ? undefined : (Object.fromEntries(given) as PushLimits);
  return { ...toKeyWithoutLimits(row), pushLimits };
}
