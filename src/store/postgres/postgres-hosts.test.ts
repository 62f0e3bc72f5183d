import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { expect, test } from "vitest";
import { PostgresHosts } from "./postgres-hosts.ts";

/** A message of the protocol: its type, its length and its content. */
function message(type: string, ...content: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.concat(content.map((part) => Buffer.from(part)));
  const head = Buffer.alloc(5);
  head.write(type, 0, "latin1");
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const ready = message("Z", "I");
const loggedIn = Buffer.concat([message("R", Buffer.alloc(4)), ready]);
/** One row with one column, `readonly`: off. */
const primary = Buffer.concat([
  message("T", Buffer.from([0, 1]), "readonly\0", Buffer.from("000000000000" + "00000019" + "ffffffffffff0000", "hex")),
  message("D", Buffer.from([0, 1, 0, 0, 0, 3]), "off"),
  message("C", "SELECT 1\0"),
  ready,
]);
const fatal = message("E", "SFATAL\0", "C57P01\0", "Mterminating connection due to unexpected postmaster exit\0", "\0");

test("a server that ends right after it has shown to be the primary does not end the process", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(loggedIn);
      // The answer and the end arrive together, so that nothing of ours runs between them.
      socket.once("data", () => socket.end(Buffer.concat([primary, fatal])));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hosts = new PostgresHosts(`postgres://u:p@${host},${host}/d`);
  const pool = new pg.Pool(hosts.poolOptions);
  pool.on("error", () => {});
  const client = await hosts.connect(pool);
  await expect(client.query("SELECT 1")).rejects.toThrow(/terminat|closed|not queryable/i);
  client.release(true);
  await pool.end();
  server.close();
});
