/** Messages of a child that was taken over end the child and not this process. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { violationOf } from "./channel.ts";
import { nodeRules } from "./process-rules.ts";
import { spawnConfined } from "./spawn.ts";

const stdio = ["ignore", "ignore", "ignore", "ipc"] as const;

/** A child that evaluates `program`, in which `send(text)` writes to the channel past Node. */
function childOf(program: string) {
  const preamble = 'const send = (text) => require("node:fs").writeSync(3, text);';
  return spawnConfined(
    process.execPath,
    ["--eval", `${preamble} ${program}; setInterval(() => {}, 1_000);`],
    nodeRules,
    {
      stdio: [...stdio],
      environment: {},
    },
  );
}

describe("a child is killed that sends", () => {
  test.each([
    ["what is not JSON", "nonsense", /not valid JSON/],
    ["an acknowledgement of nothing", '{"cmd":"NODE_HANDLE_ACK"}', /acknowledges what was not sent/],
    ["a refusal of nothing", '{"cmd":"NODE_HANDLE_NACK"}', /acknowledges what was not sent/],
    ["a handle", '{"cmd":"NODE_HANDLE","type":"net.Socket"}', /NODE_HANDLE is not expected/],
    ["what a listener throws at", '{"type":"bad"}', /the listener's error/],
  ])("%s", async (_, text, reason) => {
    const child = childOf(`send(${JSON.stringify(`${text}\n`)})`);
    child.on("message", () => {
      throw new Error("the listener's error");
    });
    const [, signal] = await once(child, "exit");
    expect(signal).toBe("SIGKILL");
    expect(violationOf(child)).toMatch(reason);
  });

  test("a message without an end", async () => {
    const child = childOf('const bytes = "x".repeat(2 ** 20); for (;;) try { send(bytes) } catch {}');
    const [, signal] = await once(child, "exit");
    expect(signal).toBe("SIGKILL");
    expect(violationOf(child)).toMatch(/longer than 16777216 bytes/);
  });
});

test("large messages and handles of this process pass", async () => {
  const child = childOf(`
    process.on("message", (message, server) => { server?.close(); process.send({ ...message, had: server !== undefined }); });`);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const text = "x".repeat(5_000_000);
  for (let round = 0; round < 3; round += 1) {
    child.send({ round }, server);
    expect((await once(child, "message"))[0]).toEqual({ round, had: true });
    child.send({ text });
    expect((await once(child, "message"))[0]).toEqual({ text, had: false });
  }
  expect(violationOf(child)).toBeUndefined();
  server.close();
  child.disconnect();
  child.kill();
  await once(child, "exit");
});

test("a child that was sent a connection outlives the listener that accepted it", async () => {
  const child = childOf('process.on("message", (message, socket) => { socket?.end("served"); });');
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({ port: (server.address() as { port: number }).port, host: "127.0.0.1" });
  const [accepted] = (await once(server, "connection")) as [Socket];
  child.send({}, accepted);
  expect(String((await once(client, "data"))[0])).toBe("served");
  const closed = once(server, "close");
  server.close();
  await closed;
  child.send({});
  expect(violationOf(child)).toBeUndefined();
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([null, "SIGTERM"]);
});
