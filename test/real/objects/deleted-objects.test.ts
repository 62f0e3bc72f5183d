/** Objects that are deleted between their notification and their batch: the real program, a real engine and store. */
import { createHash } from "node:crypto";
import { CreateQueueCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { accessKey, bucket, startFauxqs } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, details, pipeBody, rows } from "../../../harness/pipes.ts";
import { query, runningService, serve, until } from "../../../harness/serve.ts";

test("one that is gone is asked for once per step to it, and the others of its batch are loaded; it is loaded when it comes back", async () => {
  await using store = await startFauxqs();
  await using served = await serve();
  const service = await runningService(served);
  const credentials = { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey };
  const sqs = new SQSClient({ endpoint: store.sqsEndpoint, region: "us-east-1", credentials });
  const { QueueUrl = "" } = await sqs.send(new CreateQueueCommand({ QueueName: "gone" }));
  const queueUrl = `${store.sqsEndpoint}${new URL(QueueUrl).pathname}`;
  const source = { isContinuous: true, queueUrl };
  const id = await createPipe(served, service, pipeBody(store, "gone/*.json", "gone", { source }));
  await until("the pipe runs", async () => (await details(served, service, id)).state === "Running");
  const files = 30;
  const keys = Array.from({ length: files }, (_, at) => `gone/${at}.json`);
  for (const [at, key] of keys.entries()) await store.put(key, rows(at * 10, at * 10 + 10));
  const gone = "gone/17.json";
  await store.remove(gone);
  // With a size and a version, so that the store is not asked before the batch.
  const content = rows(170, 180);
  const version = { size: content.length, eTag: createHash("md5").update(content).digest("hex") };
  const notify = async (created: readonly string[]) => {
    const Records = created.map((key) => ({
      eventName: "ObjectCreated:Put",
      s3: { bucket: { name: bucket }, object: key === gone ? { key, ...version } : { key } },
    }));
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: JSON.stringify({ Records }) }));
  };
  await notify(keys);
  const count = async () => await query(service, "SELECT count() FROM gone").catch(() => "");
  await until("the others are loaded", async () => (await count()) === String((files - 1) * 10));
  const errors = async () => await query(service, "SELECT origin, message FROM gone_pipes_error").catch(() => "");
  await until("the one is recorded", async () => (await errors()) !== "");
  expect(await errors()).toBe(`${bucket}/${gone}\tThe object was deleted before it was loaded.`);
  // In the batch of all, in that of a tenth of it, and alone.
  const asked = store.requests.filter((line) => /^(?:GET|HEAD) .*\/gone\/17\.json/.test(line));
  expect(asked).toHaveLength(3);
  await store.put(gone, content);
  await notify([gone]);
  await until("the one is loaded", async () => (await count()) === String(files * 10));
  expect(await query(service, "SELECT uniqExact(id) FROM gone")).toBe(String(files * 10));
  sqs.destroy();
});
