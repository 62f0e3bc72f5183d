/** What the gatekeeper reports of the logins of one connection. */
import { createHash } from "node:crypto";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createLogger } from "../../lib/logger.ts";
import type { AccessEvent } from "./events.ts";
import { Gatekeeper } from "./gatekeeper.ts";

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

test("a connection has one login for each of its users in turn, because proxies share connections", async () => {
  const events: AccessEvent[] = [];
  const gatekeeper = new Gatekeeper({
    facts: {
      id: "s",
      ipAccessList: [{ source: "127.0.0.0/8" }],
      users: ["ann", "bob"].map((name) => ({ name, passwordSha256Hex: hash(""), readonly: false })),
    },
    handler: async (_message, response) => void response.end(),
    logger: createLogger("silent"),
    onEvent: (event) => events.push(event),
  });
  const server = createServer((message, response) => void gatekeeper.serve(message, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (user: string) =>
    new Promise<void>((resolve, reject) => {
      const options = { host: "127.0.0.1", port: (server.address() as AddressInfo).port, agent };
      const sent = request({ ...options, path: "/?query=x", headers: { "X-ClickHouse-User": user } });
      sent.once("response", (answer) => answer.resume().once("end", resolve));
      sent.once("error", reject).end();
    });
  for (const user of ["ann", "ann", "bob", "bob", "ann"]) await ask(user);
  expect(events.map(({ type, user }) => `${type} ${user}`)).toEqual(["login ann", "login bob", "login ann"]);
  agent.destroy();
  server.close();
});
