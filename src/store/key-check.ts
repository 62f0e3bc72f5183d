/** Whether a database's secrets were sealed with the key that is at hand. */
import type { Database } from "./database.ts";
import type { Sealer } from "./secrets.ts";

const name = "key_check";

/** Stores a value sealed with the key, at the first start. Throws when the stored one was sealed with another key. */
export async function requireSameKey(db: Database, sealer: Sealer): Promise<void> {
  const sealed = await db.transaction(async (tx) => {
    const find = "SELECT value FROM store_facts WHERE name = ?";
    const present = await tx.get<{ value: string }>(find, name);
    if (present !== undefined) return present.value;
    const value = sealer.seal({ check: "secret key" }, name);
    await tx.run("INSERT INTO store_facts (name, value) VALUES (?, ?)", name, value);
    return value;
  });
  if (sealer.tryOpen(sealed, name) !== undefined) return;
  throw new Error(
    "secretKey is not the key that the secrets in the metadata database are encrypted with: set that one",
  );
}
