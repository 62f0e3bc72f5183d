import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { ClickHouseClient } from "../../clickhouse/client.ts";
import { toAppError } from "./errors.ts";

test("an engine that ends, wherever in a request it is asked, is unavailable and not an error of ours", async () => {
  const engine = createServer((socket) => void socket.once("data", () => socket.destroy())).listen(0, "127.0.0.1");
  await once(engine, "listening");
  const client = new ClickHouseClient({ host: "127.0.0.1", port: (engine.address() as AddressInfo).port });
  const whileAsked = await client.rows("SELECT 1").catch(toAppError);
  engine.close();
  const afterIt = await client.rows("SELECT 1").catch(toAppError);
  client.close();
  expect([whileAsked, afterIt]).toMatchObject([{ code: "SERVICE_UNAVAILABLE" }, { code: "SERVICE_UNAVAILABLE" }]);
  expect(toAppError(new Error("ours"))).toMatchObject({ code: "INTERNAL" });
});
