import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { limits } from "../../../harness/limits.ts";
import { openTestDatabase } from "../../../harness/stores.ts";
import { OrganizationStore } from "../access/organizations.ts";
import type { Database } from "../database/database.ts";
import { Sealer } from "../database/secrets.ts";
import { ServiceStore } from "../services/services.ts";
import { ErrorRequestStore } from "./error-requests.ts";
import { Ledger } from "./ledger.ts";
import { PipeStore } from "./pipes.ts";

let dir: string;
let db: Database;
let ledger: Ledger;
let pipes: PipeStore;
let pipeId: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-ledger-"));
  db = await openTestDatabase(dir);
  ledger = new Ledger(db);
  const organization = await new OrganizationStore(db).create("o");
  const serviceId = await new ServiceStore(db).create(
    {
      ...{ organizationId: organization.id, name: "s", provider: "local", region: "local", port: 20_000 },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
    },
    limits,
  );
  pipes = new PipeStore(db, new Sealer(randomBytes(32)));
  pipeId = await pipes.create(
    {
      ...{ serviceId, name: "p", sourceKind: "objectStorage", roles: undefined, fieldMappings: [], scaling: {} },
      ...{ source: {}, secrets: {}, destination: { table: "t" }, settings: {} },
    },
    limits.pipes,
  );
});
afterEach(async () => {
  await db.close();
  rmSync(dir, { recursive: true });
});

const intent = (batchId: string, lane = "l") => ({ batchId, lane, intent: {} });
const order = async () => (await ledger.intents(pipeId)).map(({ batchId }) => batchId);

test("parts of a refused batch come back in the order they were given in, whatever they are called", async () => {
  await ledger.begin(pipeId, intent("0-99"));
  await ledger.replace(pipeId, "0-99", [intent("9-9"), intent("10-99")]);
  expect(await order()).toEqual(["9-9", "10-99"]);
  // Confirmed in another order, the last confirmation would move the lane's checkpoint back.
  await ledger.replace(pipeId, "9-9", [intent("z"), intent("a")]);
  expect(await order()).toEqual(["z", "a", "10-99"]);
  await ledger.replace(pipeId, "a", [intent("m")]);
  expect(await order()).toEqual(["z", "m", "10-99"]);
});

test("a replaced batch does not touch other lanes", async () => {
  for (const lane of ["l", "k"]) await ledger.begin(pipeId, intent(`of ${lane}`, lane));
  await ledger.replace(pipeId, "of l", [intent("x"), intent("b")]);
  const found = await ledger.intents(pipeId);
  expect(found.filter(({ lane }) => lane === "l").map(({ batchId }) => batchId)).toEqual(["x", "b"]);
  expect(found.filter(({ lane }) => lane === "k").map(({ batchId }) => batchId)).toEqual(["of k"]);
});

test("a pipe that starts over has no batch of a request for its refused rows, and no such request", async () => {
  const requests = new ErrorRequestStore(db);
  const { id } = await requests.add({ pipeId, kind: "replay", selection: { group: "g" }, requestedBy: "me" });
  await ledger.begin(pipeId, intent(`again:${id}:1`, "again"));
  await pipes.startOver(pipeId, "begun");
  expect(await ledger.intents(pipeId)).toEqual([]);
  expect(await requests.list(pipeId)).toMatchObject([{ id, state: "failed", reason: /resync/ }]);
});
