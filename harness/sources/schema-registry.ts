/** The read side of a Confluent-compatible schema registry over HTTP, with basic authentication on request. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Registered = { schema: string; schemaType?: string; references?: object[] };

export type TestRegistry = AsyncDisposable & {
  readonly url: string;
  /** By id. */
  readonly schemas: Map<number, Registered>;
  /** By `subject/version`. */
  readonly versions: Map<string, Registered>;
  readonly requests: string[];
  /** Status of every response while it is set. */
  failure: number | undefined;
};

export async function startRegistry(login?: { username: string; password: string }): Promise<TestRegistry> {
  const schemas = new Map<number, Registered>();
  const versions = new Map<string, Registered>();
  const requests: string[] = [];
  const expected = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    requests.push(path);
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { "Content-Type": "application/vnd.schemaregistry.v1+json" });
      response.end(JSON.stringify(body));
    };
    if (registry.failure !== undefined) return answer(registry.failure, { error_code: 50001 });
    if (expected !== undefined && request.headers.authorization !== expected) return answer(401, { error_code: 401 });
    const id = /^\/schemas\/ids\/(\d+)$/.exec(path)?.[1];
    const version = /^\/subjects\/(.+)\/versions\/(\d+)$/.exec(path);
    const found = id === undefined ? version && versions.get(`${version[1]}/${version[2]}`) : schemas.get(Number(id));
    if (path === "/subjects") return answer(200, []);
    return found ? answer(200, found) : answer(404, { error_code: 40403, message: "Schema not found" });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const registry: TestRegistry = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    schemas,
    versions,
    requests,
    failure: undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return registry;
}
