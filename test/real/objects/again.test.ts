/** Objects that are loaded once more: the real program, a real engine, a real S3 server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kill } from "../../../harness/chaos.ts";
import { startVersitygw, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { versitygwMissing } from "../../../harness/objects/versitygw.ts";
import { createPipe, details, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

if (versitygwMissing !== undefined) console.log(`skipped: ${versitygwMissing}`);

describe.skipIf(versitygwMissing !== undefined)("objects that are loaded once more", () => {
  let store: TestStore;
  let served: Served;
  let service: BenchService;

  beforeAll(async () => {
    store = await startVersitygw();
    served = await serve();
    service = await runningService(served);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  const count = async (table: string) => await query(service, `SELECT count() FROM ${table}`).catch(() => "");

  test("one object, or those of a folder, are loaded once more, exactly once however often the worker is killed", async () => {
    for (let at = 0; at < 10; at += 1) await store.put(`twice/${at}/a.json`, rows(at * 10, at * 10 + 10));
    const id = await createPipe(served, service, pipeBody(store, "twice/**", "twice"));
    await untilState(served, service, id, "Completed");
    const resync = async (objects: { key: string } | { prefix: string }) =>
      await served.api.updatePipeState({
        params: { ...service.params, pipeId: id },
        body: { command: "resync", rows: "keep", objects },
      });
    const loaded = async (wanted: number) => {
      await until(`${wanted} rows`, async () => (await count("twice")) === String(wanted));
      await untilState(served, service, id, "Completed");
      expect(await count("twice")).toBe(String(wanted));
    };
    await resync({ key: "twice/3/a.json" });
    await loaded(110);
    expect(
      await query(service, "SELECT uniqExact(id), min(id) FROM (SELECT id FROM twice GROUP BY id HAVING count() > 1)"),
    ).toBe("10\t30");
    // Replaced since: the present version is loaded.
    await store.put("twice/4/a.json", rows(1_000, 1_005));
    await resync({ prefix: "twice/4/" });
    await loaded(115);
    await resync({ prefix: "twice/" });
    const file = `${served.dataDir}/pipes/${id}.pid`;
    for (let kills = 0; kills < 3; kills += 1) {
      await until("a worker is killed, or all is loaded", async () => kill(file) || (await count("twice")) === "210");
    }
    await loaded(210);
    expect((await details(served, service, id)).progress).toMatchObject({ sentRows: 210, filesLoaded: 22 });
  });
});
