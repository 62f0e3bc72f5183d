/** Nothing that a pipe made stays at its source: not when the source is away, and not when the service goes. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { untilState } from "../../../harness/pipes.ts";
import { cdcPipe, untilEqual } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.warn(`Leftovers of Postgres pipes: skipped, ${missing}`);

describe.skipIf(missing !== undefined)("what a Postgres pipe made at its source", () => {
  let served: Served;
  let source: TestPostgres;

  beforeAll(async () => {
    [served, source] = await Promise.all([serve(), TestPostgres.start()]);
    await source.sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 100)");
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const plain = { source: "id::text", destination: "toString(id)" };
  const atSource = async () =>
    (await source.sql("SELECT slot_name AS n FROM pg_replication_slots UNION ALL SELECT pubname FROM pg_publication"))
      .length;

  const running = async () => {
    const service = await runningService(served);
    const pipeId = await cdcPipe(served, service, source, ["t"]);
    await untilEqual(source, service, "t", plain);
    await untilState(served, service, pipeId, "Running");
    expect(await atSource()).toBe(2);
    return { service, pipeId, organizationId: service.params.organizationId };
  };

  test("is listed while the source is away, and goes when it is back", async () => {
    const { service, pipeId, organizationId } = await running();
    const name = `millrace_${pipeId.replaceAll("-", "_")}`;
    const objects = [
      { kind: "publication", name },
      { kind: "slot", name },
    ];
    await source.stop();
    const answer = await served.api.deletePipe({ params: { ...service.params, pipeId } });
    expect(answer.leftovers).toEqual(objects);
    const listed = () => served.api.listLeftovers({ params: { organizationId } });
    await until("it was tried", async () => (await listed()).every(({ attempts }) => attempts > 0));
    expect(await listed()).toMatchObject(objects.map((object) => ({ ...object, pipeId, sourceKind: "relationalDb" })));
    expect((await listed())[0]?.lastError).toContain("nothing listens at");
    await source.start();
    await until("nothing is left", async () => (await listed()).length === 0);
    expect(await atSource()).toBe(0);
  });

  test("goes with the service, also of a pipe that is stopped", async () => {
    const { service, pipeId, organizationId } = await running();
    await served.api.updatePipeState({ params: { ...service.params, pipeId }, body: { command: "stop" } });
    await untilState(served, service, pipeId, "Stopped");
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    const stopped = async () => (await served.api.getService({ params: service.params })).state === "stopped";
    await until("the service is stopped", stopped);
    await served.api.deleteService({ params: service.params });
    await until("nothing is at the source", async () => (await atSource()) === 0);
    await until("nothing is left", async () => {
      return (await served.api.listLeftovers({ params: { organizationId } })).length === 0;
    });
  });
});
