/**
 * Every client of the connectors obeys the policy: nothing reaches a refused address, and all refusals are the same.
 */

import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { networkOf } from "../../harness/network/network.ts";
import { testDestination } from "../../harness/sources/source-context.ts";
import type { AppError } from "../../src/lib/errors.ts";
import { CheckRun } from "../../src/sources/contract/checks.ts";
import type { NetworkContext } from "../../src/sources/contract/source.ts";
import { FanOutClient } from "../../src/sources/managed-stream/client/fan-out-client.ts";
import { managedStreamConnector as kinesis } from "../../src/sources/managed-stream/connector.ts";
import { messageBrokerConnector as kafka } from "../../src/sources/message-broker/connector.ts";
import { objectStorageConnector as objects } from "../../src/sources/object-storage/connector.ts";
import { relationalDbConnector as postgres } from "../../src/sources/relational-db/connector.ts";

let canary: Server;
let openPort = 0;
let closedPort = 0;
let connections = 0;

beforeAll(async () => {
  canary = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  openPort = await listen(canary);
  const closed = createServer();
  closedPort = await listen(closed);
  await new Promise((done) => closed.close(done));
});
afterAll(() => new Promise<void>((done) => canary.close(() => done())));

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as AddressInfo).port;
}

const accessKey = { accessKeyId: "a", secretKey: "s" };
const signal = AbortSignal.timeout(60_000);
const optionsOf = (network: NetworkContext) => ({
  network,
  validateSamples: false,
  destination: testDestination,
  query: async () => [],
  pipeId: undefined,
  warn: () => {},
  marks: async () => ({}),
  run: new CheckRun(),
});

const listOf = (network: NetworkContext) => ({ network, page: { within: undefined, cursor: undefined, limit: 10 } });

/** Attempts of every client at `host:port`; the error must name `member`. */
const clients: Readonly<
  Record<string, { member: string; ask(to: string, network: NetworkContext): Promise<unknown> }>
> = {
  kafka: {
    member: "source.messageBroker.brokers",
    ask: (to, network) => kafka.check({ brokers: to, topics: "t" }, optionsOf(network), signal),
  },
  "kafka with TLS": {
    member: "source.messageBroker.brokers",
    ask: (to, network) => kafka.check({ brokers: `SSL://${to}`, topics: "t" }, optionsOf(network), signal),
  },
  "schema registry": {
    member: "source.managedStream.schemaRegistry.url",
    ask: async (to, network) => {
      const { messageFormatOf } = await import("../../src/sources/messages/formats/rows.ts");
      const { Dialer } = await import("../../src/outgoing/dialer.ts");
      const dialer = new Dialer(network.policy, "source.managedStream.schemaRegistry.url");
      const rows = await messageFormatOf({ format: "Avro", schemaRegistry: { url: `http://${to}` } }, dialer);
      await rows.registry?.check();
    },
  },
  postgres: {
    member: "source.relationalDb.host",
    ask: (to, network) => postgres.check(postgresConfig(to), optionsOf(network), signal),
  },
  "postgres under another TLS name": {
    member: "source.relationalDb.host",
    ask: (to, network) =>
      postgres.check({ ...postgresConfig(to), tlsHost: "db.example", disableTls: false }, optionsOf(network), signal),
  },
  s3: {
    member: "source.objectStorage.url",
    ask: (to, network) => objects.check({ url: `http://${to}/b/k.json`, accessKey }, optionsOf(network), signal),
  },
  "s3 with TLS": {
    member: "source.objectStorage.url",
    ask: (to, network) => objects.check({ url: `https://${to}/b/k.json` }, optionsOf(network), signal),
  },
  azure: {
    member: "source.objectStorage.connectionString",
    ask: (to, network) => objects.check(azureConfig(`http://${to}`), optionsOf(network), signal),
  },
  "azure with TLS": {
    member: "source.objectStorage.connectionString",
    ask: (to, network) => objects.check(azureConfig(`https://${to}`), optionsOf(network), signal),
  },
  sqs: {
    member: "source.objectStorage.queueUrl",
    ask: async (to, network) => {
      const { SqsQueue } = await import("../../src/sources/object-storage/queue/queue.ts");
      const queue = new SqsQueue({ url: "s3://b/k", accessKey }, `http://${to}/1/q`, network);
      await queue.check(signal).finally(() => queue.close());
    },
  },
  kinesis: {
    member: "source.managedStream.endpoint",
    ask: (to, network) => kinesis.check(streamConfig(`http://${to}`), optionsOf(network), signal),
  },
  "kinesis over HTTP/2": {
    member: "source.managedStream.endpoint",
    ask: async (to, network) => {
      const client = new FanOutClient(streamConfig(`https://${to}`), network);
      await client.register("c", signal).finally(() => client.close());
    },
  },
  "kinesis, to list": {
    member: "source.managedStream.endpoint",
    ask: async (to, network) => kinesis.list?.(streamConfig(`http://${to}`), listOf(network), signal),
  },
  "kafka, to list": {
    member: "source.messageBroker.brokers",
    ask: async (to, network) => kafka.list?.({ brokers: to }, listOf(network), signal),
  },
  "s3, to list": {
    member: "source.objectStorage.url",
    ask: async (to, network) => objects.list?.({ url: `http://${to}/b/`, accessKey }, listOf(network), signal),
  },
  "postgres, to list": {
    member: "source.relationalDb.host",
    ask: async (to, network) => postgres.list?.(postgresConfig(to), listOf(network), signal),
  },
  "roles at STS": {
    member: "source.objectStorage.iamRole",
    ask: async (to, network) => {
      vi.stubEnv("AWS_ENDPOINT_URL_STS", `http://${to}`);
      vi.stubEnv("AWS_ACCESS_KEY_ID", "machine");
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", "machine-secret");
      const { credentialsOf } = await import("../../src/sources/aws/credentials.ts");
      const credentials = credentialsOf(
        "source.objectStorage",
        { iamRole: "arn:aws:iam::1:role/r" },
        "eu-west-1",
        network,
      );
      await credentials?.().finally(() => vi.unstubAllEnvs());
    },
  },
};

function postgresConfig(to: string) {
  const [, host = "", port = ""] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(to) ?? [];
  const credentials = { username: "u", password: "p" };
  const mapping = { sourceSchemaName: "public", sourceTable: "t", targetTable: "t" };
  return { host, port: Number(port), database: "d", disableTls: true, credentials, tableMappings: [mapping] };
}

function azureConfig(origin: string) {
  const protocol = origin.split(":")[0];
  const key = Buffer.from("key").toString("base64");
  const connectionString = `DefaultEndpointsProtocol=${protocol};AccountName=a;AccountKey=${key};BlobEndpoint=${origin}/a;`;
  return { connectionString, azureContainerName: "c", path: "k.json" };
}

function streamConfig(endpoint: string) {
  return { streamName: "s", region: "us-east-1", endpoint, accessKey };
}

async function failureOf(attempt: Promise<unknown>): Promise<AppError> {
  return await attempt.then(
    () => {
      throw new Error("it was allowed");
    },
    (error: AppError) => error,
  );
}

describe.each(Object.entries(clients))("%s", (_, { member, ask }) => {
  test.each(["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"])(
    "is refused at %s before any connection, whether anybody listens or not",
    async (host) => {
      connections = 0;
      const atOpen = await failureOf(ask(`${host}:${openPort}`, networkOf(["public"])));
      const atClosed = await failureOf(ask(`${host}:${closedPort}`, networkOf(["public"])));
      expect(atOpen).toMatchObject({ code: "SOURCE_ADDRESS_REFUSED", issues: [{ path: member }] });
      expect(atOpen.message).toContain("--pipe-source-networks");
      expect(atClosed.message).toBe(atOpen.message);
      expect(connections).toBe(0);
    },
  );

  test("reaches what is allowed", async () => {
    connections = 0;
    const failure = await failureOf(ask(`127.0.0.1:${openPort}`, networkOf(["127.0.0.0/8"])));
    expect(failure.code).not.toBe("SOURCE_ADDRESS_REFUSED");
    expect(connections).toBeGreaterThan(0);
  });

  test("never reaches the server itself", async () => {
    connections = 0;
    const failure = await failureOf(ask(`localhost:${openPort}`, networkOf(["any"], [openPort])));
    expect(failure).toMatchObject({ code: "SOURCE_ADDRESS_REFUSED" });
    expect(failure.message).toContain("this server itself");
    expect(connections).toBe(0);
  });
});
