import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { Upstream } from "./upstream.ts";
import { loopbackConnector } from "./upstream-connection.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const close of cleanups.splice(0)) close();
});

/** A server that runs `serve` for each connection, and a client of it. */
async function pair(serve: (socket: Socket) => void): Promise<{ upstream: Upstream; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    serve(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const upstream = new Upstream(loopbackConnector((server.address() as AddressInfo).port));
  cleanups.push(() => {
    upstream.close();
    server.close();
  });
  return { upstream, sockets };
}

type Outcome = { status: number; body: string; error?: string; notReached?: boolean };

async function exchange(upstream: Upstream, rest?: Readable): Promise<Outcome> {
  const outcome: Outcome = { status: 0, body: "" };
  await new Promise<void>((resolve) => {
    const request = { method: "POST", path: "/", headers: {}, body: { first: [Buffer.from("a")], rest } };
    upstream.send(request, {
      onHead: ({ status }) => Object.assign(outcome, { status }),
      onData: (slice, sent) => {
        outcome.body += slice.toString();
        sent();
      },
      onEnd: resolve,
      onError: ({ message: error }, notReached) => resolve(void Object.assign(outcome, { error, notReached })),
    });
  });
  return outcome;
}

const ok = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test("a connection takes one request after the other, and is given up when the server closes it", async () => {
  const { upstream, sockets } = await pair((socket) => socket.on("data", () => socket.write(ok("yes"))));
  expect(await exchange(upstream)).toEqual({ status: 200, body: "yes" });
  expect(await exchange(upstream)).toEqual({ status: 200, body: "yes" });
  expect(sockets).toHaveLength(1);
  // A close on this side implies one on the other side before.
  sockets[0]?.end();
  await once(sockets[0] as Socket, "close");
  expect(await exchange(upstream)).toEqual({ status: 200, body: "yes" });
  expect(sockets).toHaveLength(2);
});

test("what has arrived of an answer that is cut off is given away before the error", async () => {
  const { upstream } = await pair((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nthe tail"));
  });
  expect(await exchange(upstream)).toMatchObject({ status: 200, body: "the tail", notReached: false });
});

test("a server that is not there is told apart from one that went away", async () => {
  const { upstream } = await pair((socket) => socket.destroy());
  expect(await exchange(upstream)).toMatchObject({ status: 0, notReached: false });
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const nobody = new Upstream(loopbackConnector((free.address() as AddressInfo).port));
  free.close();
  await once(free, "close");
  const body = Readable.from([Buffer.from("b")]);
  expect(await exchange(nobody, body)).toMatchObject({
    error: expect.stringContaining("ECONNREFUSED"),
    notReached: true,
  });
  // The request can be sent again: nothing was read from its body.
  expect(String(await buffer(body))).toBe("b");
});

test("an answer that comes before the whole body arrives, and its connection is not used again", async () => {
  const { upstream, sockets } = await pair((socket) => socket.once("data", () => socket.write(ok("full"))));
  const body = new Readable({ read() {} });
  body.push("b");
  expect(await exchange(upstream, body)).toEqual({ status: 200, body: "full" });
  // The client is still sending: the rest is read and discarded.
  body.push("c");
  body.push(null);
  await once(body, "end");
  expect(await exchange(upstream)).toEqual({ status: 200, body: "full" });
  expect(sockets).toHaveLength(2);
});

test("a body whose beginning was read before is sent as a whole", async () => {
  const received: string[] = [];
  const { upstream } = await pair((socket) => {
    socket.on("data", (bytes) => {
      received.push(String(bytes));
      if (received.join("").endsWith("0\r\n\r\n")) socket.write(ok("done"));
    });
  });
  const body = new Readable({ read() {} });
  body.pause();
  body.push("b");
  body.push(null);
  expect(await exchange(upstream, body)).toMatchObject({ body: "done" });
  expect(received.join("")).toMatch(/1\r\na\r\n1\r\nb\r\n0\r\n\r\n$/);
});

test("a body that breaks off ends the request, which is never complete", async () => {
  let received = "";
  const begun = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const { upstream } = await pair((socket) => {
    socket.on("close", closed.resolve).on("data", (bytes) => {
      received += String(bytes);
      if (received.endsWith("1\r\nb\r\n")) begun.resolve();
    });
  });
  const body = new Readable({ read() {} });
  const outcome = exchange(upstream, body);
  body.push("b");
  await begun.promise;
  body.destroy();
  expect(await outcome).toMatchObject({ error: "the body ended early" });
  await closed.promise;
  expect(received).toMatch(/1\r\nb\r\n$/);
});

test("reading waits while what was read has not been sent on", async () => {
  let written = 0;
  const chunk = Buffer.alloc(1_048_576);
  const { upstream } = await pair((socket) => {
    const more = () => {
      while (written < 64 && socket.write(chunk)) written += 1;
    };
    socket.once("data", () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${65 * chunk.length}\r\n\r\n`);
      more();
    });
    socket.on("drain", more);
  });
  let bytes = 0;
  const waiting: (() => void)[] = [];
  const request = { method: "GET", path: "/", headers: {}, body: { first: [], rest: undefined } };
  await new Promise<void>((resolve) => {
    const hold = (slice: Buffer, sent: () => void) => {
      bytes += slice.length;
      waiting.push(sent);
      // Three reads are in progress; the rest is still in the kernel and at the server.
      if (waiting.length === 3) setTimeout(resolve, 50);
    };
    upstream.send(request, { onHead: () => {}, onData: hold, onEnd: () => {}, onError: () => {} });
  });
  expect(waiting).toHaveLength(3);
  expect(bytes).toBeLessThan(4 * chunk.length);
  expect(written).toBeLessThan(64);
  const before = bytes;
  for (const sent of waiting.splice(0)) sent();
  await expect.poll(() => bytes).toBeGreaterThan(before);
});

test("a head that has begun is sent to its end, also when its client has gone", async () => {
  // More than the kernel takes while the server does not read.
  const value = "x".repeat(32 * 1_048_576);
  const { upstream, sockets } = await pair((socket) => socket.pause());
  const request = { method: "GET", path: "/", headers: { value }, body: { first: [], rest: undefined } };
  const gone = Promise.withResolvers<Error>();
  const sent = upstream.send(request, { onHead: () => {}, onData: () => {}, onEnd: () => {}, onError: gone.resolve });
  await expect.poll(() => sockets.length).toBe(1);
  const [socket] = sockets as [Socket];
  await once(
    socket.once("readable", () => {}),
    "readable",
  );
  sent.abort(new Error("the client went away"));
  expect((await gone.promise).message).toBe("the client went away");
  const received = await buffer(socket);
  expect(received.length).toBeGreaterThan(value.length);
  expect(received.subarray(-4).toString()).toBe("\r\n\r\n");
});

test("a head with a line break in a value is not sent", async () => {
  const { upstream } = await pair(() => {});
  const request = { method: "GET", path: "/", headers: { a: "b\r\nc: d" }, body: { first: [], rest: undefined } };
  const handler = { onHead: () => {}, onData: () => {}, onEnd: () => {}, onError: () => {} };
  expect(() => upstream.send(request, handler)).toThrow("line break");
});
