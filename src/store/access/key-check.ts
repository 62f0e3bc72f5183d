/** Whether a database's secrets were sealed with the key that is at hand. */
import type { Database } from "../database/database.ts";
import type { Sealer } from "../database/secrets.ts";

const name = "key_check";

/** Stores a value sealed with the key, at the first start. Throws when the stored one was sealed with another key. */
export async function requireSameKey(db: Database, sealer: Sealer): Promise<void> {
  if (await isSameKey(db, sealer)) return;
  throw new Error(
    "secretKey is not the key that the secrets in the metadata database are encrypted with: set that one",
  );
}

/** True when the key was another one at the last start. */
export async function adoptKey(db: Database, sealer: Sealer): Promise<boolean> {
  if (await isSameKey(db, sealer)) return false;
  await db.run("UPDATE store_facts SET value = ? WHERE name = ?", sealer.seal({ check: "secret key" }, name), name);
  return true;
}

async function isSameKey(db: Database, sealer: Sealer): Promise<boolean> {
  const sealed = await db.transaction(async (tx) => {
    const find = "SELECT value FROM store_facts WHERE name = ?";
    const present = await tx.get<{ value: string }>(find, name);
    if (present !== undefined) return present.value;
    const value = sealer.seal({ check: "secret key" }, name);
    await tx.run("INSERT INTO store_facts (name, value) VALUES (?, ?)", name, value);
    return value;
  });
  return sealer.tryOpen(sealed, name) !== undefined;
}
