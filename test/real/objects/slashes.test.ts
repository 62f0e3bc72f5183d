/** Keys that the engine cannot read: the real program, a real engine and store. */
import { expect, test } from "vitest";
import { startFauxqs } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, type PipeBody, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { query, runningService, serve } from "../../../harness/serve.ts";

test("an object with an empty folder in its key is recorded, and neither holds up nor stands for another one", async () => {
  await using store = await startFauxqs();
  await using served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
  const service = await runningService(served, { idleScaling: false });
  const odd = ["/in/20.json", "in//20.json", "in/a//20.json", "in//c*.json"];
  for (let at = 0; at < 30; at += 1) await store.put(`in/${at + 10}.json`, rows(at * 10, at * 10 + 10));
  for (const [at, key] of odd.entries()) await store.put(key, rows(1000 + at, 1001 + at));
  const id = await createPipe(served, service, pipeBody(store, "**.json", "slashes") as PipeBody);
  await untilState(served, service, id, "Completed");
  expect(await query(service, "SELECT count(), uniqExact(id), max(id) FROM slashes")).toBe("300\t300\t299");
  const message = "The engine cannot read an object whose key has `//` or begins with `/`.";
  const recorded = await query(service, "SELECT origin, message FROM slashes_pipes_error ORDER BY origin");
  expect(recorded.split("\n")).toEqual(odd.map((key) => `bucket/${key}\t${message}`).sort());
});
