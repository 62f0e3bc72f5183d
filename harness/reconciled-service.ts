/** The reconciler of services with one service, whose engines the test controls. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { createLogger } from "../src/lib/logger.ts";
import { ServiceAccess } from "../src/services/access.ts";
import { type ReconcilerOptions, ServicesReconciler } from "../src/services/reconciler.ts";
import { OrganizationStore } from "../src/store/access/organizations.ts";
import { ServiceStore } from "../src/store/services/services.ts";
import { limits } from "./limits.ts";
import { FakeRuntime } from "./service-runtime.ts";
import { openTestDatabase } from "./stores.ts";

/** A service and the reconciler that runs it, with a runtime whose engines are promises. `close` removes its folder. */
export async function reconciledService(idleMinuteMs = 1e9) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-rec-"));
  const db = await openTestDatabase(folder);
  const organization = await new OrganizationStore(db).create("o");
  const services = new ServiceStore(db);
  const id = await services.create(
    {
      ...{ organizationId: organization.id, name: "s", provider: "local", region: "local", port: 1 },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
    },
    limits,
  );
  const runtime = new FakeRuntime();
  const access = new ServiceAccess(services);
  const make = (more: Partial<ReconcilerOptions> = {}) =>
    new ServicesReconciler({
      services,
      runtime,
      access,
      logger: createLogger("silent"),
      idleMinuteMs,
      poke: () => {},
      isBusy: async () => false,
      beforeStop: async () => {},
      ...more,
    });
  const reconciler = make();
  const state = async () => (await services.find(id))?.state;
  /** Runs passes until the service is in the state, and fails after many. */
  const until = (wanted: string | undefined) =>
    vi.waitFor(async () => {
      await reconciler.pass();
      expect(await state()).toBe(wanted);
    }, 60_000);
  const close = async () => {
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { db, services, id, runtime, access, reconciler, make, state, until, close };
}
