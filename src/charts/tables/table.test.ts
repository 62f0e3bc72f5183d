import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { ClickHouseClient } from "../../clickhouse/client.ts";
import { Params } from "../columns/params.ts";
import { tableSchema } from "../columns/schema.ts";
import { Tables } from "./table.ts";

test("types that an engine is asked for while it ends are an answer that did not come, not an error of ours", async () => {
  const engine = createServer((socket) => void socket.once("data", () => socket.destroy())).listen(0, "127.0.0.1");
  await once(engine, "listening");
  const client = new ClickHouseClient({ host: "127.0.0.1", port: (engine.address() as AddressInfo).port });
  const schema = tableSchema("d", "t", [{ name: "ts", type: "DateTime" }]);
  const asked = { expressions: ["toSecond(ts)"], params: new Params() };
  const types = new Tables().typesOf(client, schema, asked, AbortSignal.timeout(10_000));
  await expect(types).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  client.close();
  engine.close();
});
