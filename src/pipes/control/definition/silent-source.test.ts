/** Addresses that take connections and never answer: a check names the member of the definition that names them. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterAll, expect, test } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { testDestination } from "../../../../harness/sources/source-context.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { Permits } from "../../../outgoing/permits.ts";
import { CheckRun } from "../../../sources/contract/checks.ts";
import { sourceKinds } from "../../../sources/contract/registry.ts";
import type { SourceKind } from "../../../sources/contract/source.ts";
import { type CheckRequest, PipeChecks } from "./check.ts";

const servers: { readonly server: Server; readonly sockets: Set<Socket> }[] = [];
afterAll(() => {
  for (const { server, sockets } of servers) {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  servers.push({ server, sockets });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const silentPort = await listening(createServer());
/** A bucket and a stream that answer. */
const livePort = await listening(
  createHttpServer((request, response) => {
    const isBucket = request.headers["x-amz-target"] === undefined;
    response.setHeader("content-type", isBucket ? "application/xml" : "application/x-amz-json-1.1");
    response.end(isBucket ? "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>" : `{"Shards":[]}`);
  }),
);
const silent = `http://127.0.0.1:${silentPort}`;
const live = `http://127.0.0.1:${livePort}`;
const accessKey = { accessKeyId: "a", secretKey: "s" };

const { messageBroker, managedStream, objectStorage, relationalDb } = sourceKinds;
const stream = { streamName: "s", region: "us-east-1", format: "JSONEachRow", accessKey };
const database = {
  ...{ host: "127.0.0.1", port: silentPort, database: "d", credentials: { username: "u", password: "p" } },
  ...{ tableMappings: [{ sourceSchemaName: "public", sourceTable: "t", targetTable: "t" }], settings: {} },
};
const owned = { kind: "owned", database: "default", tables: ["t"] } as unknown as CheckRequest["table"];
const azure = {
  ...{ azureContainerName: "c", path: "*.json" },
  connectionString: `AccountName=a;AccountKey=YWE=;BlobEndpoint=${silent}/a;DefaultEndpointsProtocol=http`,
};
const files = { url: `${live}/b/*.json`, format: "JSONEachRow", accessKey };

const silentSources: readonly (readonly [string, SourceKind, JsonObject])[] = [
  ["brokers", messageBroker, { brokers: `127.0.0.1:${silentPort}`, topics: "t", format: "JSONEachRow" }],
  ["host", relationalDb, database],
  ["endpoint", managedStream, { ...stream, endpoint: silent }],
  ["schemaRegistry.url", managedStream, { ...stream, endpoint: live, format: "Avro", schemaRegistry: { url: silent } }],
  ["url", objectStorage, { ...files, url: `${silent}/b/*.json` }],
  ["connectionString", objectStorage, azure],
  ["queueUrl", objectStorage, { ...files, isContinuous: true, queueUrl: `${silent}/1/q` }],
];

const checks = new PipeChecks({
  acquire: async () => ({ address: { host: "127.0.0.1", port: silentPort }, release: () => {} }),
  ...{ policy: anyNetwork.policy, permits: new Permits(), ledger: { marks: async () => ({}) }, limit: 100 },
});
const { signal } = new AbortController();
const scope = { organizationId: "o", serviceId: "s" };

function reach(kind: SourceKind, config: JsonObject, run: CheckRun, destination?: CheckRequest["destination"]) {
  const table = kind.targets === undefined ? testDestination : owned;
  const request = { ...scope, kind, config, table, destination, validateSamples: false, pipeId: undefined };
  return checks.reachable(request, run, signal);
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const page = { within: undefined, cursor: undefined, limit: 1 };

test("the silent member is named, to create, to validate and to list; a silent service is told", async () => {
  const asked = silentSources.map(async ([member, kind, config]) => {
    const report = new CheckRun({ goesOn: true });
    const created = failureOf(reach(kind, config, new CheckRun()));
    const listed = failureOf(checks.list({ ...scope, kind, config, page }, signal));
    await report.group("service", () => reach(kind, config, report));
    return [member, await created, report.outcomes.at(-1), await listed];
  });
  const definition = { database: "default", table: "t", columns: testDestination.columns, managedTable: true };
  const destination = { definition: definition as never, changed: [] };
  const service = failureOf(reach(objectStorage, files, new CheckRun(), destination));
  expect(await Promise.all(asked)).toMatchObject(
    silentSources.map(([member, kind]) => {
      const issues = [{ path: `source.${kind.key}.${member}` }];
      const failure = { code: "SOURCE_UNREACHABLE", issues };
      // Who lists asks neither a queue nor a registry.
      const isListed = member !== "queueUrl" && member !== "schemaRegistry.url";
      return [member, failure, { ok: false, issues }, isListed ? failure : undefined];
    }),
  );
  expect(await service).toMatchObject({ message: "The service did not answer within 10 s." });
});
