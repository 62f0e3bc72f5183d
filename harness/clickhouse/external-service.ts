/** An external service on a server of tests. */
import { neededGrants } from "../../src/services/external/inspection.ts";
import { type BenchService, runningService, type Served } from "../serve.ts";
import { serverUser, type TestServer } from "./server.ts";

/** The rights that docs/external.md asks for pipes into the database `app`, from every kind of source. */
export const pipeRights = [...neededGrants("app"), "S3, CREATE TEMPORARY TABLE ON *.*"];

/** Creates the database on the server, and a service whose connection names it. Resolves when the service runs. */
export async function externalServiceOn(
  served: Served,
  server: Pick<TestServer, "client" | "url">,
  database: string,
  { name, password }: { readonly name: string; readonly password: string } = serverUser,
): Promise<BenchService> {
  await server.client.command(`CREATE DATABASE ${database}`);
  const connection = { urls: [server.url], username: name, password, database };
  return await runningService(served, { runtime: "external", connection });
}
