/** The size of the workers of a service's Postgres pipes. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { limits } from "../../../../harness/limits.ts";
import { supervised } from "../../../../harness/supervised-pipe.ts";

let s: Awaited<ReturnType<typeof supervised>>;
beforeEach(async () => {
  s = await supervised();
});
afterEach(() => s.close());

function addPostgresPipe(name: string): Promise<string> {
  const tableMappings = [{ sourceSchemaName: "public", sourceTable: "a", targetTable: "a" }];
  const source = { relationalDb: { host: "db.example.com", database: "shop", settings: {}, tableMappings } };
  return s.pipes.create(
    {
      ...{ serviceId: s.serviceId, name, sourceKind: "relationalDb", source, roles: undefined, fieldMappings: [] },
      ...{
        secrets: { credentials: { username: "u", password: "p" } },
        scaling: { replicaMemoryGb: 0.5 },
        settings: {},
      },
      destination: { database: "default" },
    },
    limits.pipes,
  );
}

test("a new size replaces the workers of all Postgres pipes, and of no others", async () => {
  const ids = [await addPostgresPipe("one"), await addPostgresPipe("two")];
  const scalings = () =>
    ids
      .map((id) => s.live().filter(({ job }) => job.pipeId === id))
      .map((found) => found.map(({ job }) => job.scaling));
  const until = (expected: object) =>
    vi.waitFor(
      async () => {
        await s.pass();
        expect(scalings()).toEqual([[expected], [expected]]);
      },
      { timeout: 60_000, interval: 1 },
    );
  await until({ replicaMemoryGb: 0.5 });
  const others = s.live().filter(({ job }) => job.pipeId === s.id);
  const size = { replicaCpuMillicores: 2_000, replicaMemoryGb: 8 };
  await s.cdcScaling.set(s.serviceId, ["relationalDb"], size);
  await until(size);
  expect(s.live().filter(({ job }) => job.pipeId === s.id)).toEqual(others);
  expect(others.map(({ job }) => job.scaling)).toEqual([{ replicas: 2 }, { replicas: 2 }]);
});
