import { createServer } from "node:net";
import { expect, test } from "vitest";
import { listenOn } from "./listen.ts";
import { ownPorts } from "./own-ports.ts";

test("a port in use is refused, and a later error of a listener ends nothing", async () => {
  await using server = createServer();
  const errors: Error[] = [];
  const port = await listenOn(server, { host: "127.0.0.1", port: 0 }, (error) => errors.push(error));
  const taken = listenOn(createServer(), { host: "127.0.0.1", port }, () => {});
  await expect(taken).rejects.toThrow("EADDRINUSE");
  // What Node does when the process has too many open files.
  server.emit("error", new Error("accept EMFILE"));
  expect(errors.map(({ message }) => message)).toEqual(["accept EMFILE"]);
});

test("a port is an own port from the moment that it is bound until it is closed", async () => {
  const server = createServer();
  const port = await listenOn(server, { host: "127.0.0.1", port: 0 }, () => {});
  const portsOf = (serves?: "engines") => ownPorts(serves).map((own) => own.port);
  expect(portsOf()).toContain(port);
  expect(portsOf("engines")).not.toContain(port);
  server.close();
  expect(portsOf()).not.toContain(port);
});
