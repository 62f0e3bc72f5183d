/** Refused rows of a pipe: why, again, and discarded. Real broker, real engine, real kills. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kafkaMissing } from "../../../harness/kafka/kafka.ts";
import { kafkaBody } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { createPipe, untilRows } from "../../../harness/pipes.ts";
import { query } from "../../../harness/serve.ts";

if (kafkaMissing !== undefined) console.warn(`Refused rows are not tested: ${kafkaMissing}`);

describe.skipIf(kafkaMissing !== undefined)("refused rows", () => {
  let stage: KafkaStage;
  beforeAll(async () => {
    stage = await kafkaStage();
  });
  afterAll(async () => {
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

  test("need a running service: a sleeping one is woken only on request", async () => {
    const { kafka, tool, served, service } = stage;
    await tool.topic("asleep");
    const pipeId = await createPipe(served, service, kafkaBody(kafka, "asleep", "asleep"));
    const params = { ...service.params, pipeId };
    await untilRows(served, service, "system.tables", 1);
    expect(await served.api.listPipeErrors({ params })).toEqual([]);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await expect(served.api.listPipeErrors({ params })).rejects.toThrow(/wake=auto|went to sleep/);
  });
});
