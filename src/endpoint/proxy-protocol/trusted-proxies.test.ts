/** Listeners behind proxies: 127.0.0.1 is a trusted one here, and 127.0.0.2 is not. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loopbackCertificate } from "../../../harness/network/loopback-certificate.ts";
import { Dice } from "../../../harness/random.ts";
import { createLogger } from "../../lib/logger.ts";
import { Gateway } from "../gateway/gateway.ts";
import { TrustedProxies } from "./trusted-proxies.ts";

const line = (address: string) => Buffer.from(`PROXY TCP4 ${address} 10.0.0.1 1 2\r\n`);
const binary = (address: string) =>
  Buffer.concat([
    Buffer.from("0d0a0d0a000d0a515549540a2111000c", "hex"),
    Buffer.from([...address.split(".").map(Number), 10, 0, 0, 1, 0, 1, 0, 2]),
  ]);
const request = (body: string, close = true) =>
  `POST / HTTP/1.1\r\nHost: x\r\nX-ClickHouse-Key: pw\r\nContent-Length: ${body.length}\r\n${close ? "Connection: close\r\n" : ""}\r\n${body}`;
const welcome = "203.0.113.9";

/** A header with changed, missing, repeated or random bytes, or an unchanged one. */
function generatedHeader(headers: readonly Buffer[], dice: Dice): Buffer {
  const header = Buffer.from(dice.pick(headers));
  const random = (most: number) => Buffer.from(Array.from({ length: dice.below(most) + 1 }, () => dice.below(256)));
  const at = dice.below(header.length);
  switch (dice.below(6)) {
    case 0:
      return header;
    case 1:
      header[at] = dice.below(256);
      return header;
    case 2:
      return Buffer.concat([header.subarray(0, at), random(20), header.subarray(at)]);
    case 3:
      return Buffer.concat([header.subarray(0, at), header]);
    case 4:
      return Buffer.concat([header.subarray(0, 6), random(5_000)]);
    default:
      return random(200);
  }
}

describe.each(["plain", "tls"] as const)("%s", (kind) => {
  const engine = createServer((message, response) => {
    message.resume().once("end", () => response.end("done"));
  });
  let gateway: Gateway;
  let lines: { reason: string; connections: number }[];

  beforeEach(async () => {
    lines = [];
    await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
    const forwardAddress = { port: (engine.address() as AddressInfo).port, key: "k" };
    const warn = (given: { reason: string; connections: number }) => lines.push(given);
    const logger = { warn, error: warn } as never;
    gateway = new Gateway({
      backend: { handoff: () => undefined, acquire: async () => ({ forwardAddress, release: () => {} }) },
      logger: createLogger("silent"),
      ...(kind === "tls" ? { tls: { pair: loopbackCertificate, onRenewed: () => () => {} } } : {}),
      proxies: new TrustedProxies({ networks: ["127.0.0.1"], logger, headerTimeoutMs: 1_500 }),
    });
    const passwordSha256Hex = createHash("sha256").update("pw").digest("hex");
    await gateway.sync([
      {
        ...{ id: "s", name: "s", host: "127.0.0.1", port: 0 },
        ipAccessList: [{ source: welcome }],
        users: [{ name: "default", passwordSha256Hex, readonly: false }],
      },
    ]);
  });
  afterEach(async () => {
    await gateway.close();
    engine.closeAllConnections();
    await new Promise((resolve) => engine.close(resolve));
  });

  type Client = { readonly raw: Socket; readonly closed: Promise<void> };

  async function dial(localAddress = "127.0.0.1"): Promise<Client> {
    const raw = connect({ port: gateway.portOf("s") as number, host: "127.0.0.1", localAddress, noDelay: true });
    raw.on("error", () => {});
    const closed = new Promise<void>((resolve) => raw.once("close", () => resolve()));
    await once(raw, "connect");
    return { raw, closed };
  }

  /** What the client hears until the end of the connection, after a header and what follows it. */
  async function heard({ raw, closed }: Client, header: Buffer, text: string): Promise<string> {
    raw.write(header);
    const socket = kind === "tls" ? connectTls({ socket: raw, ca: loopbackCertificate.cert, host: "127.0.0.1" }) : raw;
    let said = "";
    socket.on("data", (chunk) => {
      said += String(chunk);
    });
    socket.on("error", () => {});
    socket.write(text);
    await closed;
    return said;
  }

  test.each([
    ["version 1", line],
    ["version 2", binary],
  ])("%s: the client is judged by the address of the header", async (_, header) => {
    expect(await heard(await dial(), header(welcome), request("1"))).toMatch(/^HTTP\/1.1 200 /);
    const refused = await heard(await dial(), header("203.0.113.8"), request("1"));
    expect(refused).toMatch(/^HTTP\/1.1 403 /);
    expect(refused).toContain("Access from 203.0.113.8 is not allowed");
  });

  test("the header may arrive in single bytes, with the beginning of the request", async () => {
    const client = await dial();
    const header = binary(welcome);
    const first = kind === "plain" ? request("x".repeat(10)).slice(0, 3) : "";
    for (const byte of Buffer.concat([header, Buffer.from(first)])) {
      client.raw.write(Buffer.from([byte]));
      await setImmediate();
    }
    const rest = request("x".repeat(10)).slice(first.length);
    expect(await heard(client, Buffer.alloc(0), rest)).toMatch(/^HTTP\/1.1 200 /);
  });

  test("header, handshake and requests may arrive at once, and hold for every request of the connection", async () => {
    const client = await dial();
    client.raw.cork();
    const answers = heard(client, line(welcome), request("1", false) + request("2", false) + request("3"));
    client.raw.uncork();
    expect((await answers).match(/HTTP\/1.1 200 /g)).toHaveLength(3);
  });

  test.each([
    ["UNKNOWN", Buffer.from("PROXY UNKNOWN\r\n")],
    ["LOCAL", Buffer.from("0d0a0d0a000d0a515549540a20000000", "hex")],
  ])("%s is the proxy itself", async (_, header) => {
    expect(await heard(await dial(), header, request("1"))).toContain("Access from 127.0.0.1 is not allowed");
  });

  test.each([
    ["no header", Buffer.alloc(0), "the connection does not begin with a PROXY header"],
    [
      "another family",
      Buffer.from("PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n"),
      "the PROXY header of version 1 names neither TCP4, TCP6 nor UNKNOWN",
    ],
    [
      "a header without end",
      Buffer.from(`PROXY UNKNOWN ${"x".repeat(200)}`),
      "the PROXY header of version 1 has more than 107 bytes",
    ],
  ])("%s closes the connection of a proxy without an answer", async (_, header, reason) => {
    expect(await heard(await dial(), header, request("1"))).toBe("");
    expect(lines).toEqual([expect.objectContaining({ proxy: "127.0.0.1", reason, connections: 1 })]);
  });

  test("a header that stays incomplete closes the connection, and one line tells of many", async () => {
    const clients = await Promise.all([dial(), dial(), dial()]);
    for (const { raw } of clients) raw.write(binary(welcome).subarray(0, 20));
    await Promise.all(clients.map(({ closed }) => closed));
    expect(lines.map(({ reason }) => reason)).toEqual(["the PROXY header is not complete"]);
  });

  test("generated bytes are taken as a header or close their connection, and another client notices nothing", async () => {
    const dice = new Dice(20_261_124);
    const headers = [line(welcome), binary(welcome), binary("203.0.113.8"), Buffer.from("PROXY UNKNOWN\r\n")];
    const outcomes = { taken: 0, dropped: 0, steady: 0 };
    const attempt = async () => {
      const bytes = generatedHeader(headers, dice);
      const client = await dial();
      const half = dice.below(bytes.length);
      client.raw.write(bytes.subarray(0, half));
      await setImmediate();
      const said = await heard(client, bytes.subarray(half), request("1"));
      // Whoever got an answer was judged by an address; the others have heard nothing.
      expect(said).toMatch(/^(?:HTTP\/1.1 (?:200|400|403) |$)/);
      outcomes[said === "" ? "dropped" : "taken"] += 1;
    };
    for (let round = 0; round < 25; round += 1) {
      await Promise.all(Array.from({ length: 16 }, attempt));
      outcomes.steady += /^HTTP\/1.1 200 /.test(await heard(await dial(), line(welcome), request("1"))) ? 1 : 0;
    }
    expect(outcomes.steady).toBe(25);
    expect(Math.min(outcomes.taken, outcomes.dropped)).toBeGreaterThan(20);
  });

  test("a proxy that sends without end is read no further than a header goes", async () => {
    const endless = Buffer.concat([binary(welcome).subarray(0, 14), Buffer.from([0xff, 0xff])]);
    const client = await dial();
    client.raw.write(endless);
    const flood = Buffer.alloc(2 ** 20, "x");
    let sent = 0;
    const pour = () => {
      while (sent < 64 * 2 ** 20 && client.raw.write(flood)) sent += flood.length;
    };
    client.raw.on("drain", pour);
    pour();
    await client.closed;
    expect(sent).toBeLessThan(16 * 2 ** 20);
  });

  test("a proxy that connects and sends nothing is not a mistake", async () => {
    const client = await dial();
    client.raw.end();
    await client.closed;
    expect(lines).toEqual([]);
  });

  test("a header from any other address is an invalid request, and its address is not believed", async () => {
    for (const header of [line(welcome), binary(welcome)]) {
      expect(await heard(await dial("127.0.0.2"), header, request("1"))).not.toContain(" 200 ");
    }
    const plain = await heard(await dial("127.0.0.2"), Buffer.alloc(0), request("1"));
    expect(plain).toContain("Access from 127.0.0.2 is not allowed");
    // A second header is part of the client's bytes.
    const second = Buffer.concat([line("203.0.113.8"), line(welcome)]);
    expect(await heard(await dial(), second, request("1"))).not.toContain(" 200 ");
    expect(lines).toEqual([]);
  });

  test("closing does not wait for headers", async () => {
    const client = await dial();
    client.raw.write("PROXY ");
    await expect.poll(() => client.raw.bytesWritten).toBe(6);
    await gateway.close();
    await client.closed;
  });
});
