/**
 * Serves the parts of a replica to the others, in the protocol of `DataPartsExchange`, version 7: the engine library
 * has no such listener.
 */
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import type { ClickHouseClient } from "../../src/clickhouse/client.ts";
import { literal } from "../../src/clickhouse/sql.ts";
import { cityHash128WithSeed } from "../engine/cityhash.ts";

const hashedBlock = 2048;
const nilUuid = "00000000-0000-0000-0000-000000000000";

/** Resolves when it listens. `isAlive`: a dead replica answers nobody. */
export async function servePartsOf(client: ClickHouseClient, port: number, isAlive: () => boolean): Promise<Server> {
  const server = createServer((incoming, response) => {
    const asked = new URL(incoming.url ?? "", "http://replica").searchParams;
    const path = (asked.get("endpoint") ?? "").replace(/^DataPartsExchange:/, "");
    incoming.resume();
    if (!isAlive()) return void response.destroy();
    partOf(client, path, asked.get("part") ?? "").then(
      (body) => response.writeHead(200, { "Set-Cookie": "server_protocol_version=7" }).end(body),
      () => response.destroy(),
    );
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function partOf(client: ClickHouseClient, replicaPath: string, part: string): Promise<Buffer> {
  const [row] = await client.rows<{ paths: string[] }>(
    `SELECT t.data_paths AS paths FROM system.replicas AS r
     JOIN system.tables AS t ON t.database = r.database AND t.name = r.table WHERE r.replica_path = ${literal(replicaPath)}`,
  );
  const folder = (row?.paths ?? []).map((path) => join(path, part)).find((path) => existsSync(path));
  if (folder === undefined) throw new Error(`no part ${part}`);
  const names = readdirSync(folder).filter((name) => name !== "txn_version.txt");
  const files = names.map((name) => ({ name, bytes: readFileSync(join(folder, name)) }));
  const isCompact = names.some((name) => name.startsWith("data.cmrk"));
  return Buffer.concat([
    u64(files.reduce((sum, { bytes }) => sum + bytes.length, 0)),
    text("ttl format version: 1\n{}"),
    text(isCompact ? "Compact" : "Wide"),
    Buffer.from(nilUuid),
    // Projections.
    u64(0),
    u64(files.length),
    ...files.flatMap(({ name, bytes }) => [text(name), u64(bytes.length), bytes, checksumOf(bytes)]),
  ]);
}

function u64(value: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out;
}

/** With its length before it, in groups of 7 bits. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

function checksumOf(bytes: Buffer): Buffer {
  let state: Buffer = Buffer.alloc(16);
  for (let at = 0; at < bytes.length; at += hashedBlock) {
    state = cityHash128WithSeed(bytes.subarray(at, at + hashedBlock), state);
  }
  return state;
}
