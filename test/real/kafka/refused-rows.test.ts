/** Refused rows of a pipe: why, again, and discarded. Real broker, real engine, real kills. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kafkaMissing } from "../../../harness/kafka/kafka.ts";
import { kafkaBody } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { createPipe, details, untilRows, untilState } from "../../../harness/pipes.ts";
import { query, until } from "../../../harness/serve.ts";

if (kafkaMissing !== undefined) console.warn(`Refused rows are not tested: ${kafkaMissing}`);

describe.skipIf(kafkaMissing !== undefined)("refused rows", () => {
  let stage: KafkaStage;
  beforeAll(async () => {
    stage = await kafkaStage();
  });
  afterAll(async () => {
    // The stage knows only the server that it has started, which a test kills.
    await stage?.served.stop();
    await stage?.[Symbol.asyncDispose]();
  });

  const sql = (statement: string) => query(stage.service, statement);

  test("are grouped by cause, and listed with origin, position and bytes in pages", async () => {
    const { tool, kafka, served, service } = stage;
    await tool.topic("why");
    const bad = Array.from({ length: 7 }, (_, at) => ({ topic: "why", value: `{"id":"x${at}","name":"n"}` }));
    await tool.send([...bad, { topic: "why", value: "no json" }, { topic: "why", value: Buffer.from([0xff, 0, 1]) }]);
    await tool.send([{ topic: "why", value: '{"id":1,"name":"good"}' }]);
    const pipeId = await createPipe(served, service, kafkaBody(kafka, "why", "why"));
    await untilRows(served, service, "why", 1);
    await untilRows(served, service, "why_pipes_error", 9);
    const params = { ...service.params, pipeId };
    const groups = await served.api.listPipeErrors({ params });
    expect(groups.map(({ rows }) => rows)).toEqual([7, 2]);
    expect(groups.map(({ replayableRows }) => replayableRows)).toEqual([7, 2]);
    expect(groups[0]?.shape).toMatch(/Cannot parse/);
    expect(groups[0]?.example.raw).toMatch(/^\{"id":"x\d/);
    const seen: { position: string; raw: string; rawFormat: string }[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await served.api.listPipeErrorRows({ params, query: { limit: 4, ...(cursor && { cursor }) } });
      seen.push(...page.rows);
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    expect(seen.length).toBe(9);
    expect(new Set(seen.map(({ position }) => position)).size).toBe(9);
    expect(seen.find(({ position }) => position === "8")).toMatchObject({ raw: "ff0001", rawFormat: "hex" });
    const group = groups[1]?.id as string;
    const second = await served.api.listPipeErrorRows({ params, query: { group } });
    expect(second.rows.map(({ position }) => position).sort()).toEqual(["7", "8"]);
    expect((await served.api.listPipeErrorRows({ params, query: { origin: "why/1" } })).rows).toEqual([]);
  });

  test("keep their cause each, however many of one batch are refused", async () => {
    const { tool, kafka, served, service } = stage;
    await tool.topic("heap");
    const send = (value: (id: number) => string) =>
      Array.from({ length: 60 }, (_, id) => ({ topic: "heap", value: value(id) }));
    await tool.send([
      ...send((id) => `{"id":"x${id}","amount":1}`),
      ...send((id) => `{"id":${id},"amount":"much"}`),
      ...send((id) => `{"id":${id},,"amount":1}`),
      ...send((id) => `{"id":${id},"amount":1}`),
    ]);
    const more = { destination: { columns: columnsOf("UInt8") }, body: { fieldMappings: mappings } };
    const pipeId = await createPipe(served, service, kafkaBody(kafka, "heap", "heap", more));
    await untilRows(served, service, "heap", 60);
    await untilRows(served, service, "heap_pipes_error", 180);
    const of = (pattern: string) => sql(`SELECT count() FROM heap_pipes_error WHERE ${pattern}`);
    expect(await of("raw LIKE '%\"x%' AND message LIKE '%key id%'")).toBe("60");
    expect(await of("raw LIKE '%much%' AND message LIKE '%key amount%'")).toBe("60");
    expect(await of("raw LIKE '%,,%' AND message NOT LIKE '%as the columns of the pipe ask for%'")).toBe("60");
    expect((await served.api.listPipeErrors({ params: { ...service.params, pipeId } })).length).toBeLessThan(6);
  });

  test("of a table that an earlier version made are listed, before and after the pipe adds the columns", async () => {
    const { tool, kafka, served, service } = stage;
    await sql(
      "CREATE TABLE old_pipes_error (time DateTime64(3) DEFAULT now64(3), pipe_id String, origin String, " +
        "position String, message String, raw String) ENGINE = MergeTree ORDER BY time TTL toDateTime(time) + INTERVAL 7 DAY",
    );
    await tool.topic("old");
    const pipeId = await createPipe(served, service, kafkaBody(kafka, "old", "old"));
    await sql(
      `INSERT INTO old_pipes_error (pipe_id, origin, position, message, raw) VALUES ('${pipeId}', 'old/0', '3', 'why', 'x')`,
    );
    const params = { ...service.params, pipeId };
    const before = await served.api.listPipeErrorRows({ params });
    expect(before.rows).toMatchObject([{ position: "3", raw: "x", replayable: false }]);
    await tool.send([{ topic: "old", value: "no json" }]);
    await untilRows(served, service, "old_pipes_error", 2);
    const after = await served.api.listPipeErrorRows({ params });
    expect(after.rows.map(({ replayable }) => replayable)).toEqual([true, false]);
    expect(after.rows[1]?.id).toBe(before.rows[0]?.id);
  });

  const columnsOf = (type: string) => [
    { name: "id", type: "UInt64" },
    { name: "amount", type },
    { name: "at_offset", type: "Int64" },
    { name: "key", type: "String" },
  ];
  const mappings = [
    { sourceField: "id", destinationField: "id" },
    { sourceField: "amount", destinationField: "amount" },
    { sourceField: "_offset", destinationField: "at_offset" },
    { sourceField: "_key", destinationField: "key" },
  ];
  /** Ids 0 to `count - 1`; the amount of every second one is not a number. */
  const payments = (topic: string, count: number) =>
    Array.from({ length: count }, (_, id) => ({
      topic,
      key: Buffer.from([id % 256]),
      value: JSON.stringify({ id, amount: id % 2 === 0 ? id : `${id} EUR` }),
    }));
  const start = async (table: string, count: number) => {
    const { tool, kafka, served, service } = stage;
    await tool.topic(table);
    await tool.send([...payments(table, count), { topic: table, value: "no json" }]);
    const more = { destination: { columns: columnsOf("UInt64") }, body: { fieldMappings: mappings } };
    const pipeId = await createPipe(served, service, kafkaBody(kafka, table, table, more));
    await untilRows(served, service, table, count / 2);
    await untilRows(served, service, `${table}_pipes_error`, count / 2 + 1);
    return { ...service.params, pipeId };
  };
  type PipeParams = Awaited<ReturnType<typeof start>>;
  const fix = async (params: PipeParams, table: string) => {
    await sql(`ALTER TABLE ${table} MODIFY COLUMN amount String`);
    const body = { destination: { columns: columnsOf("String") }, fieldMappings: mappings };
    await stage.served.api.updatePipe({ params, body });
  };
  const replay = (params: PipeParams, body: { from?: string; group?: string; rowIds?: string[] }) =>
    stage.served.api.replayPipeErrors({ params, body });
  const ended = async (params: PipeParams, id: string) =>
    await until("the request has ended", async () => {
      const requests = await stage.served.api.listPipeErrorRequests({ params });
      const request = requests.find((one) => one.id === id);
      if (request?.state === "failed") throw new Error(request.reason);
      return request?.state === "pending" ? undefined : request;
    });
  const everything = { from: "2020-01-01T00:00:00Z" };

  test("stay refused with the new reason before a fix, and land once after it, marked with time and key", async () => {
    const params = await start("fixed", 20);
    const { api } = stage.served;
    const tried = await ended(params, (await replay(params, everything)).id);
    expect(tried).toMatchObject({ state: "done", selectedRows: 11, replayedRows: 0, refusedRows: 11 });
    const stayed = (await api.listPipeErrorRows({ params })).rows;
    expect(stayed.length).toBe(11);
    expect(stayed.every(({ triedAt, replayedAt }) => triedAt !== undefined && replayedAt === undefined)).toBe(true);

    await fix(params, "fixed");
    const groups = await api.listPipeErrors({ params });
    const group = groups.find(({ rows }) => rows === 10)?.id as string;
    const done = await ended(params, (await replay(params, { group })).id);
    expect(done).toMatchObject({ state: "done", selectedRows: 10, replayedRows: 10, refusedRows: 0 });
    expect(
      await sql("SELECT count(), uniqExact(id), sum(at_offset), sum(toInt64(hex(key) = hex(toUInt8(id)))) FROM fixed"),
    ).toBe("20\t20\t190\t20");
    expect(await sql("SELECT amount FROM fixed WHERE id = 7")).toBe("7 EUR");
    const replayed = (await api.listPipeErrorRows({ params, query: { state: "replayed" } })).rows;
    expect(replayed.length).toBe(10);
    const { name } = (await api.listKeys({ params: { organizationId: params.organizationId } }))[0] as { name: string };
    expect(replayed[0]).toMatchObject({ replayedBy: name, replayedAt: expect.stringMatching(/^20/) });

    const again = await ended(params, (await replay(params, everything)).id);
    expect(again).toMatchObject({ selectedRows: 1, replayedRows: 0, refusedRows: 1 });
    expect(await sql("SELECT count() FROM fixed")).toBe("20");
    expect((await api.getPipe({ params })).progress).toMatchObject({ replayedRows: 10, errors: 11 });

    const chosen = stayed.find(({ raw }) => raw === "no json")?.id as string;
    const gone = await api.discardPipeErrors({ params, query: { rowIds: chosen } });
    expect(await ended(params, gone.id)).toMatchObject({ kind: "discard", state: "done", selectedRows: 1 });
    expect((await api.listPipeErrorRows({ params })).rows).toEqual([]);
    expect((await api.listPipeErrorRows({ params, query: { state: "all" } })).rows.length).toBe(10);
    expect((await api.getPipe({ params })).progress).toMatchObject({ discardedRows: 1 });
  });

  test("of a stopped pipe are replayed without starting it", async () => {
    const params = await start("halted", 6);
    await stage.served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(stage.served, stage.service, params.pipeId, "Stopped");
    await fix(params, "halted");
    await ended(params, (await replay(params, everything)).id);
    expect(await sql("SELECT count(), uniqExact(id) FROM halted")).toBe("6\t6");
    expect((await details(stage.served, stage.service, params.pipeId)).state).toBe("Stopped");
  });

  test("land once when the worker, the engine and the server are killed again and again", async () => {
    const count = 24_000;
    const params = await start("killed", count);
    await fix(params, "killed");
    const { id } = await replay(params, everything);
    const { dataDir } = stage.served;
    const worker = `${dataDir}/pipes/${params.pipeId}.again.pid`;
    const engine = `${dataDir}/services/${params.serviceId}/engine.pid`;
    const deaths = { worker: 0, engine: 0, server: 0 };
    const victims = ["worker", "worker", "engine", "worker", "server", "worker", "worker"] as const;
    for (const victim of victims) {
      const before = await landed();
      await until("rows land", async () => (await landed()) > before || (await isOver(params, id)));
      if (await isOver(params, id)) break;
      deaths[victim] += 1;
      if (victim === "server") stage = { ...stage, served: await stage.served.restartAfterKill() };
      else kill(victim === "worker" ? worker : engine);
    }
    expect(await ended(params, id)).toMatchObject({ state: "done", replayedRows: count / 2, refusedRows: 1 });
    expect(await sql("SELECT count(), uniqExact(id) FROM killed")).toBe(`${count}\t${count}`);
    expect((await stage.served.api.getPipe({ params })).progress).toMatchObject({ replayedRows: count / 2 });
    console.info("killed", deaths);
    expect(deaths.worker).toBeGreaterThan(0);
  });

  const isOver = async (params: PipeParams, id: string) =>
    (await stage.served.api.listPipeErrorRequests({ params })).some((one) => one.id === id && one.state !== "pending");
  const landed = async () => Number(await sql("SELECT count() FROM killed").catch(() => "0"));

  test("need a running service: a sleeping one is woken only on request", async () => {
    const { kafka, tool, served, service } = stage;
    await tool.topic("asleep");
    const pipeId = await createPipe(served, service, kafkaBody(kafka, "asleep", "asleep"));
    const params = { ...service.params, pipeId };
    await untilRows(served, service, "system.tables", 1);
    expect(await served.api.listPipeErrors({ params })).toEqual([]);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    const state = async () => (await served.api.getService({ params: service.params })).state;
    await until("the service is stopped", async () => (await state()) === "stopped");
    await expect(served.api.listPipeErrors({ params })).rejects.toThrow(/wake=auto|went to sleep/);
  });
});

function kill(pidFile: string): void {
  try {
    process.kill((JSON.parse(readFileSync(pidFile, "utf8")) as { pid: number }).pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}
