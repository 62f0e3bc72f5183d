/** An endpoint that takes the requests of enhanced fan-out and answers none of them, at whichever it begins. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test, vi } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { FanOutClient } from "./fan-out-client.ts";

const stops: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const stop of stops.splice(0)) stop();
});

const answers: Readonly<Record<string, object>> = {
  DescribeStreamSummary: { StreamDescriptionSummary: { StreamARN: "arn:s" } },
  DescribeStreamConsumer: { __type: "ResourceNotFoundException", message: "no such consumer" },
};

async function portOf(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function clientOf(endpoint: string): FanOutClient {
  const accessKey = { accessKeyId: "a", secretKey: "s" };
  const client = new FanOutClient({ streamName: "s", region: "us-east-1", endpoint, accessKey }, anyNetwork);
  stops.push(() => client.close());
  return client;
}

const never = new AbortController().signal;
const asks: Readonly<Record<string, (client: FanOutClient) => Promise<unknown>>> = {
  register: (client) => client.register("c", never),
  deregister: (client) => client.deregister("c", never),
  subscribe: (client) => client.subscribe("arn:c", "a", { from: "horizon" }, never)[Symbol.asyncIterator]().next(),
};

/** The error of the request once its time is over. `asked` settles when the silent server has it. */
async function failureOf(asking: Promise<unknown>, asked: Promise<unknown>): Promise<unknown> {
  const failed = asking.then(
    () => undefined,
    (error: unknown) => error,
  );
  await asked;
  vi.advanceTimersByTime(20_000);
  return await failed;
}

const silent = {
  code: "SOURCE_UNREACHABLE",
  message: expect.stringContaining("does not answer in time"),
  issues: [expect.objectContaining({ path: "source.managedStream.endpoint" })],
};

test.each([
  ["register", "DescribeStreamSummary"],
  ["register", "DescribeStreamConsumer"],
  ["register", "RegisterStreamConsumer"],
  ["deregister", "DeregisterStreamConsumer"],
  ["subscribe", "SubscribeToShard"],
])("%s ends when %s is never answered", async (ask, silentAt) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  const asked = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    await text(request);
    const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
    if (operation === silentAt) return asked.resolve();
    const answer = answers[operation] ?? {};
    response.statusCode = "__type" in answer ? 400 : 200;
    response.setHeader("content-type", "application/x-amz-json-1.1").end(JSON.stringify(answer));
  });
  const client = clientOf(`http://127.0.0.1:${await portOf(server)}`);
  expect(await failureOf((asks[ask] as (typeof asks)[string])(client), asked.promise)).toMatchObject(silent);
});

test.each(Object.keys(asks))("%s ends when a server of HTTP/2 does not even begin with TLS", async (ask) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  const server = createTcpServer();
  const asked = once(server, "connection");
  const client = clientOf(`https://127.0.0.1:${await portOf(server)}`);
  expect(await failureOf((asks[ask] as (typeof asks)[string])(client), asked)).toMatchObject(silent);
});
