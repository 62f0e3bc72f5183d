import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { limits } from "../../../harness/limits.ts";
import { isOnPostgres, openTestStores } from "../../../harness/stores.ts";
import { Sealer } from "../database/secrets.ts";
import { ConnectionPasswords } from "./service-connections.ts";

const connection = { urls: ["https://ch.example.com:8443"], username: "owner" };

test("the password of a connection is in no file of the store, and opens for its service only", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-connections-"));
  const stores = await openTestStores(folder);
  try {
    const { services, connectionPasswords } = stores;
    const organization = await stores.organizations.create("o");
    const id = await services.create(
      {
        ...{ organizationId: organization.id, name: "s", provider: "local", region: "local", port: 1 },
        ...{ minReplicaMemoryGb: 0, maxReplicaMemoryGb: 0, numReplicas: 1, idleScaling: false, idleTimeoutMinutes: 5 },
        ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
        external: { connection, sealFor: (own) => connectionPasswords.seal(own, "open-sesame") },
      },
      limits,
    );
    const service = await services.find(id);
    if (service === undefined) throw new Error("the service is missing");
    expect(service).toMatchObject({ runtime: "external", connection });
    expect(connectionPasswords.open(service)).toBe("open-sesame");
    expect(() => connectionPasswords.open({ ...service, id: "another" })).toThrow(/connection.password/);
    const other = new ConnectionPasswords(new Sealer(Buffer.alloc(32, 8)));
    expect(() => other.open(service)).toThrow(/another secret key/);
    const row = await stores.db.get("SELECT * FROM services");
    expect(JSON.stringify(row)).not.toContain("open-sesame");
    for (const file of isOnPostgres() ? [] : ["millrace.db", "millrace.db-wal"]) {
      expect(readFileSync(join(folder, file)).includes("open-sesame"), file).toBe(false);
    }
  } finally {
    await stores.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
