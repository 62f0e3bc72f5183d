/** Many small objects: what their versions cost at the store. */
import { expect, test } from "vitest";
import { startFauxqs } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, type PipeBody, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { query, runningService, serve } from "../../../harness/serve.ts";

test("the engine asks the store for a list of them, and for each of them once", async () => {
  await using store = await startFauxqs();
  await using served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
  const service = await runningService(served, { idleScaling: false });
  const files = 30;
  for (let at = 0; at < files; at += 1) await store.put(`many/${at + 10}.json`, rows(at * 10, at * 10 + 10));
  await store.put("many/_SUCCESS", "not a row");
  const before = store.requests.length;
  const id = await createPipe(served, service, pipeBody(store, "many/*.json", "many") as PipeBody);
  await untilState(served, service, id, "Completed");
  expect(await query(service, "SELECT count(), uniqExact(id) FROM many")).toBe(`${files * 10}\t${files * 10}`);
  // The first object was looked at when the pipe was made.
  const asked = store.requests.slice(before).filter((line) => /\/many\/(?!10\.)/.test(line));
  expect(asked.filter((line) => !line.startsWith("GET"))).toEqual([]);
  expect(asked).toHaveLength(files - 1);
});

test("one of them without a row does not keep the others from being loaded, and causes no error", async () => {
  await using store = await startFauxqs();
  await using served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
  const service = await runningService(served, { idleScaling: false });
  for (let at = 0; at < 30; at += 1)
    await store.put(`some/${at + 10}.json`, at === 7 ? "\n" : rows(at * 10, at * 10 + 10));
  const id = await createPipe(served, service, pipeBody(store, "some/*.json", "some") as PipeBody);
  await untilState(served, service, id, "Completed");
  expect(await query(service, "SELECT count(), uniqExact(id) FROM some")).toBe("290\t290");
  expect(await query(service, "SELECT count() FROM some_pipes_error")).toBe("0");
});

test("a thousand objects with long names are few batches, and a bad one is found in few steps", async () => {
  await using store = await startFauxqs();
  await using served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
  const service = await runningService(served, { idleScaling: false });
  const files = 1_000;
  const bad = 567;
  const put = async (at: number) => {
    const key = `long/${"x".repeat(150)}/${String(at).padStart(4, "0")}.json`;
    await store.put(key, at === bad ? "not a row" : rows(at * 10, at * 10 + 10));
  };
  for (let at = 0; at < files; at += 20) await Promise.all(Array.from({ length: 20 }, (_, next) => put(at + next)));
  const id = await createPipe(served, service, pipeBody(store, "long/**.json", "long") as PipeBody);
  await untilState(served, service, id, "Completed");
  const good = (files - 1) * 10;
  expect(await query(service, "SELECT count(), uniqExact(id) FROM long")).toBe(`${good}\t${good}`);
  const [inserts = ""] = (
    await query(service, "SELECT max(max_block_number) FROM system.parts WHERE table = 'long'")
  ).split("\n");
  // Two batches because of the names, and three times the tenths of what was refused.
  expect(Number(inserts)).toBeLessThan(35);
});
