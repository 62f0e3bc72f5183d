import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { freePort } from "../../harness/network/free-port.ts";
import { connectionFailure } from "./connection-failure.ts";

let server: Server | undefined;
afterEach(() => server?.close());

function errorOf(socket: Socket): Promise<Error> {
  return new Promise((resolve) => socket.once("error", resolve));
}

test("a name that DNS does not know, a port where nothing listens and a port without TLS are told apart", async () => {
  const unknown = await errorOf(connect({ host: "no-such-host.invalid", port: 1 }));
  expect(connectionFailure(unknown, "broker")).toMatch(/^DNS does not know no-such-host\.invalid/);
  const port = await freePort();
  const refused = await errorOf(connect({ host: "127.0.0.1", port }));
  expect(connectionFailure(refused, `127.0.0.1:${port}`)).toBe(
    `nothing listens at 127.0.0.1:${port}; check host and port`,
  );
  server = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const plain = await errorOf(connectTls({ host: "127.0.0.1", port: (server.address() as AddressInfo).port }));
  expect(connectionFailure(plain, "https://store")).toBe(
    "https://store does not speak TLS; check the port, or use http:",
  );
});

test("a server that is silent is told from one that is not reached", () => {
  const timeout = (message: string) =>
    Object.assign(new Error(message), { name: "TimeoutError", code: "TimeoutError" });
  const silent = "the request socket timed out after 10000 ms of inactivity";
  expect(connectionFailure(timeout(silent), "a:1")).toMatch(/^a:1 accepts the connection and does not answer in time/);
  const unreached = "Socket timed out without establishing a connection within 5000 ms";
  expect(connectionFailure(timeout(unreached), "a:1")).toMatch(/^no answer from a:1; check firewalls and routes/);
});

test("the reason is found below wrappers and among aggregated errors", () => {
  const inner = Object.assign(new Error("x"), { code: "ECONNREFUSED" });
  const wrapped = new Error("outer", { cause: new AggregateError([new Error("other"), inner]) });
  expect(connectionFailure(wrapped, "a:1")).toMatch(/^nothing listens at a:1/);
});

test("an answer that refuses is not a failure of the connection", () => {
  expect(connectionFailure(Object.assign(new Error("denied"), { code: "AccessDenied" }), "a:1")).toBeUndefined();
});
