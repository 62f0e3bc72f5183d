/** Every command of the walk-through in `docs/cli.md` and of the first pipes in the pages of sources, by a shell. */
import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { kafkaMissing, startKafka } from "../../../harness/kafka/kafka.ts";
import { KafkaTool } from "../../../harness/kafka/pipes.ts";
import { accessKey, kinesisMissing, startKinesalite } from "../../../harness/kinesis/kinesis.ts";
import { startTestStore } from "../../../harness/objects/object-store.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { runningService, type Served, serve } from "../../../harness/serve.ts";
import { mainFile, packageRoot } from "../../../src/lib/program.ts";

const missing = [kafkaMissing, kinesisMissing("kinesalite"), postgresMissing(18)].filter((why) => why !== undefined);
if (missing.length > 0) console.warn(`Commands of these pages are not tested: ${missing.join(" ")}`);

let served: Served;
let folder: string;
beforeAll(async () => {
  served = await serve();
  await runningService(served);
});
afterAll(async () => await served?.[Symbol.asyncDispose]());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-walk-"));
  return () => rmSync(folder, { recursive: true, force: true });
});

function commandsOf(page: string): string[] {
  const guide = readFileSync(join(packageRoot, "docs", page), "utf8");
  return [...guide.matchAll(/^```console\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) =>
    [...block.matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => command),
  );
}

/** Runs the commands in one shell, in a folder as the pages describe it. Returns what they print. */
async function run(page: string, given: Readonly<Record<string, string>>, server = served): Promise<string> {
  mkdirSync(join(folder, "data"));
  cpSync(join(server.dataDir, "credentials.json"), join(folder, "data", "credentials.json"));
  const program = join(folder, "millrace");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${mainFile}" "$@"\n`);
  chmodSync(program, 0o700);
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, API: server.credentials.baseUrl, ...given };
  const script = ["set -euxo pipefail", ...commandsOf(page)].join("\n");
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd: folder, env });
  return stdout;
}

test("the walk-through works as it is written", async () => {
  expect(commandsOf("cli.md").length).toBeGreaterThan(30);
  await using fresh = await serve();
  await using store = await startTestStore();
  await store.put("in/1.json", '{"user":"ann","n":1}\n{"user":"bob","n":2}\n');
  writeFileSync(join(folder, "secret-key"), store.accessKey.secretKey);
  const bucket = { BUCKET_URL: `${store.endpoint}/${store.bucket}`, KEY_ID: store.accessKey.accessKeyId };
  await run("cli.md", bucket, fresh);
  expect(readFileSync(join(folder, "clicks.csv"), "utf8")).toBe('"ann",1\n"bob",2\n2\n');
  expect(readFileSync(join(folder, "bundle.json"), "utf8")).not.toContain(fresh.credentials.keySecret);
});

test("rows that an application sends are in the table", async () => {
  const printed = await run("push.md", {});
  expect(printed).toMatch(/"status":202.*"offset":0/);
  expect(printed.trim().split("\n").at(-1)).toBe("2");
});

test("rows that a view has changed are in its table", async () => {
  expect((await run("transforms.md", {})).split("\n")).toContain("ann\t9.5");
});

test("a first pipe from object storage", async () => {
  await using store = await startTestStore();
  await store.put("uploads/1.json", '{"id":1}\n{"id":2}\n{"id":3}\n');
  writeFileSync(join(folder, "secret-key"), store.accessKey.secretKey);
  const bucket = { BUCKET_URL: `${store.endpoint}/${store.bucket}`, KEY_ID: store.accessKey.accessKeyId };
  expect((await run("object-storage.md", bucket)).trim().split("\n").at(-1)).toBe("3");
});

test.skipIf(kafkaMissing !== undefined)("a first pipe from Kafka", async () => {
  await using kafka = await startKafka();
  await using tool = new KafkaTool(kafka);
  await tool.topic("visits");
  await tool.send([1, 2, 3].map((id) => ({ topic: "visits", value: JSON.stringify({ id, user: `u${id}` }) })));
  expect((await run("kafka.md", { BROKERS: kafka.brokers })).trim().split("\n").at(-1)).toBe("3");
});

test.skipIf(kinesisMissing("kinesalite") !== undefined)("a first pipe from Kinesis", async () => {
  await using kinesis = await startKinesalite();
  await kinesis.createStream("events", 1);
  const records = [1, 2, 3].map((id) => ({ Data: Buffer.from(JSON.stringify({ id })), PartitionKey: `k${id}` }));
  await kinesis.put("events", records);
  writeFileSync(join(folder, "secret-key"), accessKey.secretKey);
  const printed = await run("kinesis.md", { KINESIS_URL: kinesis.endpoint, KEY_ID: accessKey.accessKeyId });
  expect(printed.trim().split("\n").at(-1)).toBe("3");
});

test.skipIf(postgresMissing(18) !== undefined)("a first pipe from Postgres", async () => {
  await using postgres = await TestPostgres.start();
  await postgres.sql("CREATE DATABASE shop");
  await using client = await postgres.client({ database: "shop" });
  await client.query("CREATE TABLE orders (id int PRIMARY KEY, item text)");
  await client.query("INSERT INTO orders VALUES (1, 'a'), (2, 'b')");
  writeFileSync(join(folder, "pg-password"), postgres.password);
  const printed = await run("postgres.md", { PGHOST: postgres.host, PGPORT: String(postgres.port) });
  expect(printed.trim().split("\n").at(-1)).toBe("2");
});
