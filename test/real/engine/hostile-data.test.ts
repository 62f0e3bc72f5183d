/**
 * Damaged data can end the engine: `hostile.orc` makes the ORC reader of engine 26.7 read invalid memory. The service
 * recovers by itself, however often it is sent, and every acknowledged row is there.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { serve, until } from "../../../harness/serve.ts";

const hostile = readFileSync(new URL("hostile.orc", import.meta.url));
const columns =
  "a UInt64, s String, f Float64, arr Array(Nullable(String)), m Map(String, UInt32), d DateTime64(3), t Tuple(x Int8, y String)";

test("a service survives data that ends its engine, and keeps every acknowledged row", async () => {
  await using served = await serve();
  const { organizationId } = served.credentials;
  const { service, password } = await served.api.createService({
    params: { organizationId },
    body: { name: "hostile", idleTimeoutMinutes: 5 },
  });
  const params = { organizationId, serviceId: service.id };
  const running = async () => {
    const record = await served.api.getService({ params });
    return record.state === "running" ? record : undefined;
  };
  const [endpoint] = (await until("the service runs", running)).endpoints;
  const send = async (query: string, body: string | Buffer = "") => {
    const url = `http://${endpoint?.host}:${endpoint?.port}/?query=${encodeURIComponent(query)}`;
    const headers = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": password };
    const response = await fetch(url, { method: "POST", body: body as string, headers });
    return { status: response.status, text: (await response.text()).trim() };
  };
  const ok = async (query: string) =>
    await until(query, async () => (await send(query).catch(() => undefined))?.status === 200);
  await ok("CREATE TABLE kept (n UInt64) ENGINE = MergeTree ORDER BY n");
  await ok(`CREATE TABLE sent (${columns}) ENGINE = Null`);
  for (let acknowledged = 1; acknowledged <= 3; acknowledged += 1) {
    expect(await send(`INSERT INTO kept VALUES (${acknowledged})`)).toEqual({ status: 200, text: "" });
    const answer = await send("INSERT INTO sent FORMAT ORC", hostile).catch(() => undefined);
    expect(answer?.status).not.toBe(200);
    await until("every row is there", async () => {
      const count = await send("SELECT count(), sum(n) FROM kept").catch(() => undefined);
      return count?.text === `${acknowledged}\t${(acknowledged * (acknowledged + 1)) / 2}`;
    });
  }
  await until("the service runs again", running);
});
