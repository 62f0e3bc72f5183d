/** An HTTP server that listens nowhere watches the connections it is given as one that listens would. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Connections } from "./connections.ts";

let connections: Connections;
/** With the usual times. */
let patient: Connections;
let current: Connections;
let listener: Server;
let answers: ServerResponse[];

beforeEach(async () => {
  answers = [];
  const onRequest = (_message: IncomingMessage, response: ServerResponse) => void answers.push(response);
  connections = new Connections({ onRequest, headersTimeoutMs: 200, checkEveryMs: 50 });
  patient = new Connections({ onRequest });
  current = connections;
  listener = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => current.give(socket));
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await Promise.all([connections.close(0), patient.close(0)]);
  listener.close();
});

async function client(text = "") {
  const socket = connect((listener.address() as AddressInfo).port, "127.0.0.1");
  let said = "";
  socket.on("data", (chunk) => {
    said += String(chunk);
  });
  socket.on("error", () => {});
  const closed = once(socket, "close");
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
  patient.letGo();
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
