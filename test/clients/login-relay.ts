/**
 * A relay at a fixed port that adds a login, for suites that know only one address, without a password. Bytes of
 * answers pass unchanged, also those that are cut off.
 */
import { createServer } from "node:http";
import net from "node:net";
import type { Target } from "./suite.ts";

export type LoginRelay = Disposable & { readonly requests: () => number };

/** Rejects when the port is taken. Each request has an upstream connection of its own. */
export async function startLoginRelay(port: number, target: Target): Promise<LoginRelay> {
  let requests = 0;
  const server = createServer((request) => {
    requests += 1;
    const client = request.socket;
    const upstream = net.connect(target.port, target.host);
    const given = Object.entries(request.headers).filter(([name]) => name !== "connection");
    const login = [
      ["x-clickhouse-user", "default"],
      ["x-clickhouse-key", target.password],
    ];
    const anonymous = !given.some(([name]) => name === "authorization" || name.startsWith("x-clickhouse-key"));
    const headers = [...given, ...(anonymous ? login : []), ["connection", "close"]];
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines}\r\n`);
    const chunked = request.headers["transfer-encoding"] !== undefined;
    request.on("data", (chunk: Buffer) => {
      upstream.write(chunked ? Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, crlf]) : chunk);
    });
    request.on("end", () => chunked && upstream.write("0\r\n\r\n"));
    upstream.pipe(client);
    upstream.on("error", () => client.destroy());
    client.on("error", () => upstream.destroy());
    client.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    requests: () => requests,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const crlf = Buffer.from("\r\n");
