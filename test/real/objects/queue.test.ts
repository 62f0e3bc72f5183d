/** Notifications by SQS: bodies, heartbeats, outages and dead letters, with the real program and a real engine. */
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessKey, startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { startStoreProxy } from "../../../harness/objects/store-proxy.ts";
import { createPipe, details, pipeBody, rows } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore & { readonly sqsEndpoint: string };
let sqs: SQSClient;

beforeAll(async () => {
  [served, store] = await Promise.all([serve(), startFauxqs()]);
  service = await runningService(served);
  const credentials = { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey };
  sqs = new SQSClient({ endpoint: store.sqsEndpoint, region: "us-east-1", credentials });
});
afterAll(async () => {
  sqs.destroy();
  await served[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const count = async (table: string) => await query(service, `SELECT count() FROM ${table}`).catch(() => "");

const record = (key: string, name = "ObjectCreated:Put") => ({
  eventName: name,
  s3: {
    bucket: { name: "bucket" },
    object: { key: encodeURIComponent(key).replaceAll("%20", "+").replaceAll("%2F", "/") },
  },
});

/** A queue and its dead-letter queue. */
async function queues(name: string, visibilityS: number, maxReceiveCount: number) {
  const make = async (QueueName: string, Attributes: Record<string, string>) => {
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName, Attributes }));
    return `${store.sqsEndpoint}${new URL(QueueUrl as string).pathname}`;
  };
  const dead = await make(`${name}-dead`, {});
  const deadLetterTargetArn = `arn:aws:sqs:us-east-1:000000000000:${name}-dead`;
  const url = await make(name, {
    VisibilityTimeout: String(visibilityS),
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount }),
  });
  const send = async (body: unknown) => {
    const MessageBody = typeof body === "string" ? body : JSON.stringify(body);
    await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody }));
  };
  /** Visible and hidden messages of the queue, and those in the dead-letter queue. */
  const left = async () => {
    const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"] as const;
    const counts = await Promise.all(
      [url, dead].map(async (QueueUrl) => {
        const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...names] });
        const { Attributes = {} } = await sqs.send(command);
        return names.map((name) => Number(Attributes[name]));
      }),
    );
    const [[visible, hidden], [deadVisible]] = counts as [[number, number], [number]];
    return { visible, hidden, dead: deadVisible };
  };
  return { url, dead, send, left };
}

test("S3, SNS and EventBridge bodies; duplicates and strangers; the initial load", async () => {
  const { url, send, left } = await queues("news", 30, 2);
  await store.put("news/old.json", rows(0, 10));
  const source = { isContinuous: true, queueUrl: url };
  await createPipe(served, service, pipeBody(store, "news/*.json", "news", { source }));
  await until("the initial load", async () => (await count("news")) === "10");
  await store.put("news/a b+c.json", rows(10, 20));
  await store.put("news/sns.json", rows(20, 30));
  await store.put("news/bridge é.json", rows(30, 40));
  await store.put("other/x.json", rows(90, 99));
  await send({ Records: [record("news/a b+c.json"), record("other/x.json")] });
  await send({ Records: [record("news/a b+c.json")] });
  await send({ Type: "Notification", Message: JSON.stringify({ Records: [record("news/sns.json")] }) });
  await send({ "detail-type": "Object Created", detail: { object: { key: "news/bridge é.json" } } });
  await send({ Records: [record("news/old.json"), record("news/sns.json", "ObjectRemoved:Delete")] });
  await send({ Event: "s3:TestEvent" });
  await until("all rows", async () => (await count("news")) === "40");
  await until("messages deleted", async () => {
    const { visible, hidden } = await left();
    return visible + hidden === 0;
  });
  expect(await left()).toMatchObject({ dead: 0 });
  expect(await count("news")).toBe("40");
});

test("a load that takes several visibility timeouts keeps its message from others, until its rows are durable", async () => {
  const { url, send, left } = await queues("slow", 2, 1);
  await using storeProxy = await startStoreProxy(store.endpoint);
  // Only reads of the object itself are delayed, not listings: the engine reads it in ranges.
  storeProxy.pauseBefore = ({ url: path, method }) => (method === "GET" && path?.includes("slow/a.json") ? 9_000 : 0);
  const source = { isContinuous: true, queueUrl: url, url: `${storeProxy.endpoint}/bucket/slow/*.json` };
  await createPipe(served, service, pipeBody(store, "", "slow", { source }));
  await store.put("slow/a.json", rows(0, 10));
  const started = Date.now();
  await send({ Records: [record("slow/a.json")] });
  await until("the pipe has the message", async () => (await left()).hidden === 1);
  for (let done = false; !done; ) {
    // Another consumer of the same queue, which takes every visible message.
    const command = new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 0, VisibilityTimeout: 30 });
    expect((await sqs.send(command)).Messages ?? []).toEqual([]);
    const { visible, hidden } = await left();
    done = visible + hidden === 0;
    if (hidden === 1) continue;
    expect(await count("slow"), "deleted only with its rows").toBe("10");
  }
  expect(Date.now() - started).toBeGreaterThan(8_000);
  expect(await query(service, "SELECT count(), uniqExact(id) FROM slow")).toBe("10\t10");
  expect((await left()).dead).toBe(0);
});

test("an outage of the store costs no delivery: the messages wait with us", async () => {
  const { url, send, left } = await queues("outage", 2, 1);
  await using storeProxy = await startStoreProxy(store.endpoint);
  const source = { isContinuous: true, queueUrl: url, url: `${storeProxy.endpoint}/bucket/queued/*.json` };
  const id = await createPipe(served, service, pipeBody(store, "", "queued", { source }));
  await store.put("queued/0.json", rows(0, 10));
  await send({ Records: [record("queued/0.json")] });
  await until("notifications are read", async () => (await count("queued")) === "10");
  storeProxy.down = true;
  for (let i = 1; i < 15; i += 1) await store.put(`queued/${i}.json`, rows(10 * i, 10 * i + 10));
  for (let i = 1; i < 15; i += 1) await send({ Records: [record(`queued/${i}.json`)] });
  await until("received", async () => (await left()).hidden > 0);
  await until("degraded", async () => (await details(served, service, id)).state === "Degraded");
  const since = Date.now();
  await until("three timeouts later", async () => Date.now() - since > 6_000);
  storeProxy.down = false;
  await until("all rows", async () => (await count("queued")) === "150");
  await until("messages deleted", async () => {
    const { visible, hidden } = await left();
    return visible + hidden === 0;
  });
  // With one delivery allowed, any returned message would be in the dead-letter queue by now.
  expect((await left()).dead).toBe(0);
  expect(await query(service, "SELECT count(), uniqExact(id) FROM queued")).toBe("150\t150");
});

test("poison reaches the dead-letter queue by the redrive policy, and holds up nobody", async () => {
  const { url, dead, send, left } = await queues("poison", 2, 2);
  const source = { isContinuous: true, queueUrl: url };
  const id = await createPipe(served, service, pipeBody(store, "poison/*.json", "poison", { source }));
  await store.put("poison/bad.json", '{"id":');
  await store.put("poison/beside.json", rows(0, 10));
  await send("this is not JSON");
  const said = async () => (await details(served, service, id)).lastError ?? "";
  await until("the pipe says so", async () => /a message of another form/.test(await said()));
  await send({ Records: [record("poison/bad.json"), record("poison/beside.json")] });
  await until("recorded", async () => (await count("poison_pipes_error")) === "1");
  // An object that was given up long ago does not block the others of its message.
  await store.put("poison/later.json", rows(1000, 1010));
  await send({ Records: [record("poison/bad.json"), record("poison/later.json")] });
  await until("the object beside it is loaded", async () => (await count("poison")) === "20");
  const bad = ["poison/beside.json", "poison/later.json", "this is not JSON"];
  const letters: string[] = [];
  let sent = 1;
  // A good message may be among them: its heartbeat is late on a machine that is busy for its two seconds.
  await until("all three are dead letters", async () => {
    // Good messages arrive continuously, and each is loaded while the bad one is redelivered.
    await store.put(`poison/good-${sent}.json`, rows(10 * sent, 10 * sent + 10));
    await send({ Records: [record(`poison/good-${sent}.json`)] });
    sent += 1;
    await until("not held up", async () => (await count("poison")) === String(10 * sent + 10));
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: dead, MaxNumberOfMessages: 10 }));
    letters.push(...Messages.map(({ Body = "" }) => Body));
    return bad.every((text) => letters.some((letter) => letter.includes(text)));
  });
  await until("nothing else is left", async () => {
    const { visible, hidden } = await left();
    return visible + hidden === 0;
  });
  expect(await query(service, "SELECT count(), uniqExact(id) FROM poison")).toBe(
    `${10 * sent + 10}\t${10 * sent + 10}`,
  );
  expect(await query(service, "SELECT origin FROM poison_pipes_error")).toBe("bucket/poison/bad.json");
});
