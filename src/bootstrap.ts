/**
 * The first organization with an admin key and an access token, and the credentials file for the operator. The file may
 * be lost: the next start issues new credentials to the owner of the data directory.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { FirstCredentials } from "./api/first-credentials.ts";
import type { CredentialStore } from "./store/access/credentials.ts";
import type { OrganizationStore } from "./store/access/organizations.ts";

type Issued = Omit<FirstCredentials, "baseUrl" | "observabilityBaseUrl" | "cloudApiUrl">;

/** Reads the credentials of an earlier start, or issues new ones. */
export async function ensureCredentials(
  file: string,
  stores: { organizations: OrganizationStore; credentials: CredentialStore },
): Promise<Issued> {
  const organization = await stores.organizations.first("Default organization");
  const earlier = readEarlier(file);
  if (earlier?.organizationId === organization.id) return earlier;
  const owner = { organizationId: organization.id, name: "Issued at start", expireAt: null };
  const { key, secret } = await stores.credentials.createKey({ ...owner, role: "admin", state: "enabled" });
  const token = await stores.credentials.createToken(owner);
  return {
    organizationId: organization.id,
    keyId: key.keyId,
    keySecret: secret,
    accessToken: token.secret,
  };
}

/** Writes the file atomically, readable by its owner only. */
export function writeCredentials(file: string, credentials: FirstCredentials): void {
  const next = `${file}.new`;
  writeFileSync(next, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(next, file);
}

function readEarlier(file: string): FirstCredentials | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as FirstCredentials;
  } catch {
    // An unreadable file is replaced by a new one with new credentials.
    return undefined;
  }
}
