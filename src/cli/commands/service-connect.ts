/** Passwords of services, and what clients need to connect. */
import { createHash } from "node:crypto";
import { resolveService, type ServiceObject } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { isForPeople } from "../output/format.ts";
import type { Shell } from "../shell.ts";

/** `service password`: only the hash of a given password is sent. */
export async function setPassword(shell: Shell, reference: string, file: string | undefined): Promise<void> {
  const client = await shell.client();
  const service = await resolveService(client, reference);
  const given = file === undefined ? undefined : await shell.secret(file);
  if (given === "") throw usageError("the password is empty");
  const body = given === undefined ? {} : { newPasswordHash: createHash("sha256").update(given).digest("base64") };
  const result = await client.call("updateServicePassword", { params: { serviceId: service.id }, body });
  if (!isForPeople(shell.format)) return await shell.printOne(result, []);
  if (result.password === undefined) return shell.say(`the password of ${service.name} is changed`);
  await shell.write(`${result.password}\n`);
  shell.say("The password is not shown again.");
}

/** The snippet of a client, with the password in the variable CLICKHOUSE_PASSWORD. */
export function connectText({ name, endpoints }: ServiceObject, kind: string): string {
  const [endpoint] = endpoints;
  const native = endpoints.find((one) => one.protocol.startsWith("native"));
  if (endpoint === undefined) throw usageError(`service ${name} has no endpoint yet`);
  const { protocol, host, port, username } = endpoint;
  const url = `${protocol}://${host}:${port}`;
  const snippets: Readonly<Record<string, string>> = {
    curl: `curl --user "${username}:$CLICKHOUSE_PASSWORD" --data-binary 'SELECT 1' '${url}/'`,
    node: `import { createClient } from "@clickhouse/client";
const client = createClient({ url: "${url}", username: "${username}", password: process.env.CLICKHOUSE_PASSWORD });
console.log(await (await client.query({ query: "SELECT 1" })).json());`,
    python: `import os, clickhouse_connect
client = clickhouse_connect.get_client(host="${host}", port=${port}, secure=${protocol === "https" ? "True" : "False"},
    username="${username}", password=os.environ["CLICKHOUSE_PASSWORD"])
print(client.query("SELECT 1").result_rows)`,
    env: `CLICKHOUSE_URL=${url}\nCLICKHOUSE_HOST=${host}\nCLICKHOUSE_PORT=${port}\nCLICKHOUSE_USER=${username}`,
    ...(native && { native: nativeUrl(native) }),
  };
  const text = Object.hasOwn(snippets, kind) ? snippets[kind] : undefined;
  if (text === undefined) throw usageError(`--as ${kind}: must be one of ${Object.keys(snippets).join(", ")}`);
  return `${text}\n`;
}

/** As clickhouse-go, golang-migrate and most native clients take it. */
function nativeUrl({ protocol, host, port, username }: ServiceObject["endpoints"][number]): string {
  const secure = protocol === "nativesecure" ? "?secure=true" : "";
  return `clickhouse://${username}:$CLICKHOUSE_PASSWORD@${host}:${port}/default${secure}`;
}
