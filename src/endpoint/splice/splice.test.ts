/** Large bodies that the kernel moves, from a client through an HTTP server to another server. */
import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { forwardUpstream } from "../forward/forward-upstream.ts";
import { Upstream } from "../forward/upstream.ts";
import { loopbackConnector } from "../forward/upstream-connection.ts";
import { Splicer } from "./splicer.ts";

const isLinux = process.platform === "linux";
if (!isLinux) console.log("skipped: only Linux moves bodies within the kernel");

const bytes = 64 * 1_048_576;
const body = Buffer.alloc(bytes);
for (let at = 0; at < bytes; at += 4) body.writeUInt32LE((at * 2_654_435_761) >>> 0, at);
const digestOf = (data: Buffer) => createHash("sha256").update(data).digest("hex");

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const close of cleanups.splice(0)) close();
});

/** A server that sees raw bytes after the head of a request. */
type Receiver = { port: number; sockets: Socket[]; received: number; hash: Hash; closed: Promise<void> };

async function receiver(onBody: (receiver: Receiver, socket: Socket) => void): Promise<Receiver> {
  const closed = Promise.withResolvers<void>();
  const state: Receiver = { port: 0, sockets: [], received: 0, hash: createHash("sha256"), closed: closed.promise };
  const server = createTcpServer((socket) => {
    state.sockets.push(socket);
    let head: Buffer | undefined = Buffer.alloc(0);
    socket.on("error", () => {}).on("close", () => closed.resolve());
    socket.on("data", (chunk) => {
      let data: Buffer = chunk;
      if (head !== undefined) {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf("\r\n\r\n");
        if (end === -1) return;
        data = head.subarray(end + 4);
        head = undefined;
      }
      state.received += data.length;
      state.hash.update(data);
      onBody(state, socket);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of state.sockets) socket.destroy();
    server.close();
  });
  state.port = (server.address() as AddressInfo).port;
  return state;
}

type Front = { port: number; server: Server; seen: IncomingMessage[] };

/** Forwards every request to the receiver. The first bytes of the body are read before, as those of a statement are. */
async function front(to: Receiver, given?: Splicer): Promise<Front> {
  const splicer = given ?? new Splicer();
  // The thread runs before the first body arrives.
  if (given === undefined) (await splicer.reserve())?.release();
  const upstream = new Upstream(loopbackConnector(to.port));
  const seen: IncomingMessage[] = [];
  const server = createServer(async (message, response) => {
    seen.push(message);
    const [first] = (await once(message, "data")) as [Buffer];
    message.pause();
    const headers = { "content-length": String(message.headers["content-length"]) };
    const forward = { upstream, splicer, method: "POST", path: "/", headers, body: { first: [first], rest: message } };
    forwardUpstream(forward, response).catch((error: Error) => response.writeHead(502).end(error.message));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    upstream.close();
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server, seen };
}

/** Its threads start late. */
class LateSplicer extends Splicer {
  readonly running = Promise.withResolvers<void>();

  override async reserve() {
    await this.running.promise;
    return await super.reserve();
  }
}

function open(port: number, length = bytes): ClientRequest {
  return request({ port, host: "127.0.0.1", method: "POST", headers: { "content-length": length } });
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";

async function answerOf(
  sent: ClientRequest,
): Promise<{ status: number; connection: string | undefined; body: string }> {
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, connection: answer.headers.connection, body: await text(answer) };
}

describe.skipIf(!isLinux)("a large body", () => {
  test("arrives whole and unchanged, mostly unread by this process, and its connection closes", async () => {
    const to = await receiver((state, socket) => state.received === bytes && socket.write(ok));
    const { port, seen } = await front(to);
    const sent = open(port);
    sent.end(body);
    expect(await answerOf(sent)).toEqual({ status: 200, connection: "close", body: "done" });
    expect(to.hash.digest("hex")).toBe(digestOf(body));
    expect(seen[0]?.socket.bytesRead).toBeLessThan(bytes / 2);
  });

  test("may come slowly", async () => {
    const to = await receiver((state, socket) => state.received === bytes && socket.write(ok));
    const { port } = await front(to);
    const sent = open(port);
    // The response may come as soon as the last bytes have arrived.
    const answer = answerOf(sent);
    for (let at = 0; at < bytes; at += bytes / 16) {
      await new Promise((written) => sent.write(body.subarray(at, at + bytes / 16), written));
      await expect.poll(() => to.received, { interval: 5 }).toBe(at + bytes / 16);
    }
    sent.end();
    expect(await answer).toMatchObject({ status: 200, body: "done" });
    expect(to.hash.digest("hex")).toBe(digestOf(body));
  });

  test("several of them at once arrive whole, with fewer threads than bodies", async () => {
    const to = await receiver((_, socket) => socket.bytesRead > bytes && socket.write(ok));
    const { port } = await front(to);
    const requests = Array.from({ length: 4 }, () => open(port));
    for (const sent of requests) sent.end(body);
    const answers = await Promise.all(requests.map(answerOf));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(to.received).toBe(4 * bytes);
  });

  test("whose client goes away ends the request, which is never complete", async () => {
    const half = Promise.withResolvers<void>();
    const to = await receiver((state) => state.received >= bytes / 4 && half.resolve());
    const { port } = await front(to);
    const sent = open(port);
    sent.on("error", () => {});
    sent.write(body.subarray(0, bytes / 2));
    await half.promise;
    sent.destroy();
    await to.closed;
    expect(to.received).toBeLessThan(bytes);
  });

  test("whose server goes away is answered", async () => {
    const to = await receiver((state, socket) => state.received >= bytes / 4 && socket.destroy());
    const { port } = await front(to);
    const sent = open(port);
    sent.write(body.subarray(0, bytes / 2));
    expect(await answerOf(sent)).toMatchObject({ status: 502 });
    sent.on("error", () => {}).destroy();
  });

  test("that is answered early can be sent to its end, and its client gets the answer", async () => {
    let answered = false;
    const to = await receiver((state, socket) => {
      if (answered || state.received < bytes / 4) return;
      answered = true;
      socket.pause();
      socket.write("HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ntoo bad\r\n0\r\n\r\n");
    });
    const { port } = await front(to);
    const sent = open(port);
    sent.end(body);
    const [answer] = await Promise.all([answerOf(sent), once(sent, "finish")]);
    expect(answer).toMatchObject({ status: 400, body: "too bad" });
  });

  test("is copied when the response has begun, and its connection stays open", async () => {
    let begun = false;
    const to = await receiver((state, socket) => {
      if (!begun) socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ndo\r\n");
      begun = true;
      if (state.received === bytes) socket.write("2\r\nne\r\n0\r\n\r\n");
    });
    const late = new LateSplicer();
    const { port } = await front(to, late);
    const sent = open(port);
    sent.write(body.subarray(0, 1_048_576));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    late.running.resolve();
    for (let at = 1_048_576; at < bytes; at += 1_048_576) {
      await new Promise((written) => sent.write(body.subarray(at, at + 1_048_576), written));
    }
    sent.end();
    expect(await text(answer)).toBe("done");
    expect(answer.headers.connection).toBe("keep-alive");
    expect(to.hash.digest("hex")).toBe(digestOf(body));
  });

  test("of a cancelled request is no longer moved", async () => {
    const half = Promise.withResolvers<void>();
    const to = await receiver((state) => state.received >= bytes / 4 && half.resolve());
    const { port, server } = await front(to);
    const sent = open(port);
    const gone = new Promise((closed) => sent.on("error", () => {}).once("close", closed));
    sent.write(body.subarray(0, bytes / 2));
    await half.promise;
    server.closeAllConnections();
    await Promise.all([to.closed, gone]);
  });
});
