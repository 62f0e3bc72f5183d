/**
 * Services of tests on real servers: with `TEST_DESTINATION=external`, a service that a test creates is an external one
 * whose server is started for it. The tests of pipes then run as they are; CONTRIBUTING.md has the command.
 */
import { TestServer } from "./clickhouse/server.ts";

const isExternalDestination = process.env.TEST_DESTINATION === "external";

/** Servers by the data directory of the control plane whose services they are. */
const servers = new Map<string, TestServer[]>();

/** The request that creates the service; what applies to engines of ours is left out. */
export async function destinationBody(dataDir: string, body: object): Promise<object> {
  if (!isExternalDestination || "runtime" in body || "backupId" in body) return body;
  const server = await TestServer.start();
  servers.set(dataDir, [...(servers.get(dataDir) ?? []), server]);
  const { name = "test" } = body as { readonly name?: string };
  const { name: username, password } = server.user;
  return { name, runtime: "external", connection: { urls: [server.url], username, password } };
}

/** Ends the servers of a control plane that has ended. */
export async function endDestinations(dataDir: string): Promise<void> {
  const own = servers.get(dataDir) ?? [];
  servers.delete(dataDir);
  for (const server of own) await server[Symbol.asyncDispose]();
}
