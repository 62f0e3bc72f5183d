/** An HTTP server without a listener monitors the connections it adopts, as a listening server does. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { markLoggedIn } from "../auth/logged-in.ts";
import { setClient } from "./client-address.ts";
import { ClientConnections, type ClientConnectionsOptions } from "./connections.ts";

let connections: ClientConnections;
/** With the default timeouts. */
let patient: ClientConnections;
let current: ClientConnections;
let listener: Server;
let answers: ServerResponse[];
let messages: IncomingMessage[];
let made: ClientConnections[];
/** Called for a connection before it is adopted. */
let onSocket: (socket: Socket) => void;

/** Connections with other limits, used for all later clients. */
function limited(options: Omit<ClientConnectionsOptions, "onRequest">): ClientConnections {
  current = new ClientConnections({ onRequest, ...options });
  made.push(current);
  return current;
}

const onRequest = (message: IncomingMessage, response: ServerResponse) => {
  messages.push(message);
  answers.push(response);
};

beforeEach(async () => {
  answers = [];
  messages = [];
  made = [];
  connections = new ClientConnections({ onRequest, headersTimeoutMs: 200, checkEveryMs: 50 });
  patient = new ClientConnections({ onRequest });
  current = connections;
  onSocket = () => {};
  listener = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
    onSocket(socket);
    current.adopt(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await Promise.all([connections, patient, ...made].map((one) => one.close(0)));
  listener.close();
});

async function client(text = "") {
  const socket = connect((listener.address() as AddressInfo).port, "127.0.0.1");
  let said = "";
  socket.on("data", (chunk) => {
    said += String(chunk);
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await once(socket, "connect");
  if (text !== "") socket.write(text);
  return { socket, closed, said: () => said };
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const arrived = async (count: number) => await expect.poll(() => answers.length).toBe(count);

test("a connection that sends nothing, and one that sends its head slowly, are closed", async () => {
  const silent = await client();
  const slow = await client("GET / HT");
  const trickle = setInterval(() => slow.socket.write("T"), 20);
  await Promise.all([silent.closed, slow.closed]);
  clearInterval(trickle);
  expect(connections.size).toBe(0);
  expect(answers).toEqual([]);
});

test("a request that takes longer than any of these times is answered", async () => {
  const { said, socket } = await client(request);
  await arrived(1);
  await new Promise((resolve) => setTimeout(resolve, 500));
  answers[0]?.end("late");
  await expect.poll(said).toContain("late");
  socket.destroy();
});

test("letting go closes what waits for a request, at once or when its answer has left, and nothing else", async () => {
  current = patient;
  const [idle, busy, begun] = await Promise.all([client(request), client(request), client("GET / HT")]);
  await arrived(2);
  answers[0]?.end("first");
  await expect.poll(() => idle?.said() + busy?.said()).toContain("first");
  const [done, working] = idle?.said() === "" ? [busy, idle] : [idle, busy];
  patient.drain();
  await done?.closed;
  await expect.poll(() => patient.size).toBe(2);
  answers[1]?.write("half ");
  answers[1]?.end("whole");
  await working?.closed;
  expect(working?.said()).toContain("whole");
  begun?.socket.write("TP/1.1\r\nHost: x\r\n\r\n");
  await arrived(3);
  answers[2]?.end("third");
  await begun?.closed;
  expect(begun?.said()).toContain("third");
  await patient.emptied(1_000);
});

test("what has been read of a next request keeps its connection, also behind another one in the same packet", async () => {
  current = patient;
  const [whole, pipelined] = await Promise.all([
    client(request),
    client("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET /second HTTP/1.1\r\nX-Junk: "),
  ]);
  await arrived(2);
  for (const message of messages) message.resume();
  for (const answer of answers) answer.end("first");
  await expect.poll(() => whole.said().includes("first") && pipelined.said().includes("first")).toBe(true);
  patient.drain();
  await whole.closed;
  await expect.poll(() => patient.size).toBe(1);
  pipelined.socket.write("GET /nosuch HTTP/1.1\r\nHost: x\r\n\r\n");
  await arrived(3);
  expect(messages[2]?.url).toBe("/second");
  expect(messages[2]?.headers["x-junk"]).toBe("GET /nosuch HTTP/1.1");
  answers[2]?.end("second");
  await pipelined.closed;
});

/** Sends `bytes` of an incomplete head. */
function unfinished(socket: Socket, bytes: number): void {
  socket.write(`GET /?query=${"x".repeat(bytes)}`);
}

test("heads that do not end hold bounded memory, and a large one that ends is read", async () => {
  const own = limited({});
  const many = await Promise.all(Array.from({ length: 150 }, () => client()));
  await expect.poll(() => own.size).toBe(150);
  for (const { socket } of many) unfinished(socket, 1_000_000);
  await expect.poll(() => own.size).toBeLessThanOrEqual(16);
  expect(own.size).toBeGreaterThan(10);
  const large = await client();
  unfinished(large.socket, 900_000);
  large.socket.write(" HTTP/1.1\r\nHost: x\r\n\r\n");
  await arrived(1);
  expect(messages[0]?.url?.length).toBeGreaterThan(900_000);
  for (const { socket } of many) socket.destroy();
});

test("the budget of an address closes what holds most of it, and nothing that rests", async () => {
  const own = limited({ headBudget: { all: 1_000_000, perAddress: 300_000 } });
  const [small, large, resting] = await Promise.all([client(), client(), client(request)]);
  await arrived(1);
  answers[0]?.end("done");
  unfinished(small.socket, 100_000);
  unfinished(large.socket, 250_000);
  await large.closed;
  await expect.poll(() => own.size).toBe(2);
  // Also after a request whose login has not finished.
  const waiting = await client(request);
  await arrived(2);
  unfinished(waiting.socket, 250_000);
  await waiting.closed;
  resting.socket.write(request);
  await arrived(3);
  small.socket.destroy();
});

test("of too many connections that nobody has logged in on the oldest is closed", async () => {
  const own = limited({ maxStrangers: 3 });
  const known = await client(request);
  await arrived(1);
  markLoggedIn(messages[0]?.socket as Socket);
  answers[0]?.end("in");
  const first = await client();
  const others = await Promise.all([client(), client(), client()]);
  await first.closed;
  expect(own.size).toBe(4);
  expect(known.socket.destroyed).toBe(false);
  for (const { socket } of [known, ...others]) socket.destroy();
});

test("clients of one proxy count as clients of their own", async () => {
  const own = limited({ maxStrangers: 1 });
  const addresses = ["203.0.113.1", "203.0.113.2", "203.0.113.1"];
  onSocket = (socket) => setClient(socket, { address: addresses.shift() });
  const first = await client();
  const other = await client();
  await expect.poll(() => own.size).toBe(2);
  const second = await client();
  await first.closed;
  expect(own.size).toBe(2);
  for (const { socket } of [other, second]) socket.destroy();
});

test("bytes that were read ahead begin the request, and keep its connection", async () => {
  current = patient;
  onSocket = (socket) => setClient(socket, { ahead: Buffer.from("GET /ahead HTTP/1.1\r\nHo") });
  const begun = await client();
  onSocket = (socket) => setClient(socket, {});
  const silent = await client();
  await expect.poll(() => patient.size).toBe(2);
  patient.drain();
  await silent.closed;
  expect(patient.size).toBe(1);
  begun.socket.write("st: x\r\n\r\n");
  await arrived(1);
  expect(messages[0]?.url).toBe("/ahead");
  answers[0]?.end("done");
  await begun.closed;
  expect(begun.said()).toContain("done");
});

test("a body that hardly moves is given up, unless it is not read", async () => {
  limited({ checkEveryMs: 20, bodyProgress: { leastBytes: 100, withinMs: 600 } });
  const head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
  const [slow, steady, unread] = await Promise.all([client(head), client(head), client(`${head}${"x".repeat(100)}`)]);
  await arrived(3);
  const unreadPort = unread.socket.localPort;
  for (const message of messages) if (message.socket.remotePort !== unreadPort) message.resume();
  const drips = setInterval(() => slow.socket.write("x"), 30);
  let written = 0;
  const streams = setInterval(() => {
    steady.socket.write("x".repeat(100));
    written += 1;
  }, 30);
  await slow.closed;
  const before = written;
  await expect.poll(() => written - before, { timeout: 20_000 }).toBeGreaterThan(20);
  expect(steady.socket.destroyed).toBe(false);
  expect(unread.socket.destroyed).toBe(false);
  clearInterval(drips);
  clearInterval(streams);
  steady.socket.destroy();
  unread.socket.destroy();
});
