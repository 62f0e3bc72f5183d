/** Kinesis pipes as a user meets them: the real program, a real engine, stand-ins that speak the Kinesis protocol. */
import { DescribeStreamSummaryCommand, ListStreamConsumersCommand } from "@aws-sdk/client-kinesis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startKinesalite, startKinesisLocal, type TestKinesis } from "../support/kinesis.ts";
import { events, kinesisPipe } from "../support/kinesis-pipes.ts";
import { createPipe, details, type PipeBody, untilState } from "../support/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../support/serve.ts";

let local: TestKinesis;
let lite: TestKinesis;
let served: Served;
let service: BenchService;

beforeAll(async () => {
  [local, lite, served] = await Promise.all([startKinesisLocal(), startKinesalite(), serve()]);
  service = await runningService(served);
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await local?.[Symbol.asyncDispose]();
  await lite?.[Symbol.asyncDispose]();
});

const look = (sql: string) => query(service, sql).catch(() => "");
const untilRows = async (table: string, rows: number) =>
  await until(`${table} has ${rows} rows`, async () => Number(await look(`SELECT count() FROM ${table}`)) >= rows);

describe.each([
  ["kinesis-local", () => local],
  ["kinesalite", () => lite],
] as const)("a stream of %s", (name, kinesisOf) => {
  test("is read from its beginning through split and merge, every record once", async () => {
    const kinesis = kinesisOf();
    const table = `reshard_${name.replace("-", "_")}`;
    await kinesis.createStream(table, 2);
    await kinesis.put(table, events(0, 200));
    const id = await createPipe(served, service, kinesisPipe(kinesis, table));
    await untilRows(table, 200);
    const [first] = await kinesis.openShards(table);
    await kinesis.split(table, first as never);
    await kinesis.put(table, events(200, 400));
    const [left, right] = await kinesis.openShards(table);
    await kinesis.merge(table, left as never, right as never);
    await kinesis.put(table, events(400, 600));
    await untilRows(table, 600);
    expect(await look(`SELECT count(), uniqExact(id), sum(id) FROM ${table}`)).toBe(`600\t600\t${(599 * 600) / 2}`);
    const shown = await details(served, service, id);
    expect(shown.state).toBe("Running");
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  });
});
