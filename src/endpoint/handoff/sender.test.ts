/** An engine host that was taken over: whatever it sends, it is refused or harmless, and other connections go on. */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test, vi } from "vitest";
import type { AccessEvents } from "../auth/events.ts";
import type { NativeSession } from "../native/session.ts";
import { HandoffSender } from "./sender.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-handoff-"));
for (const name of ["busy", "statements"]) writeFileSync(join(dir, name), Buffer.alloc(2_000));
afterAll(() => rmSync(dir, { recursive: true }));

const session: NativeSession = {
  ...{ user: "u", passwordSha256Hex: "00", revision: 54_480, database: "" },
  ...{ settings: [["a", "1"]], parameters: [] },
};
const event = {
  event: { type: "login", user: "u", address: "127.0.0.1", detail: "" },
  ...{ count: 1, firstAt: 1_700_000_000_000, lastAt: 1_700_000_000_000 },
};

/** A sender to a host that is an emitter, with one connection; `tell` is false for what would kill the host. */
function senderOf() {
  const child = new EventEmitter() as EventEmitter & Pick<ChildProcess, "send" | "connected">;
  Object.assign(child, { connected: true, send: () => true });
  const sender = new HandoffSender(child as ChildProcess, dir);
  const seen = { events: [] as AccessEvents[], back: [] as unknown[], destroyed: 0 };
  sender.onEvents = (events) => void seen.events.push(events);
  const destroy = () => {
    seen.destroyed += 1;
  };
  const socket = Object.assign(new EventEmitter(), { destroy }) as unknown as Socket;
  sender.send(socket, (_, native) => void seen.back.push(native), session);
  const tell = (message: unknown): boolean => {
    try {
      child.emit("message", message);
      return true;
    } catch {
      return false;
    }
  };
  return { child, sender, seen, tell };
}

const kinds = [
  "admitted",
  "taken",
  "closed",
  "session",
  "rests",
  "released",
  "drained",
  "events",
  "access",
  "activity",
];
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(session, [event], { ...session, user: 5 }, [{ ...event, count: -1 }], [{ ...event, event: null }]),
  fc.constantFrom([{ ...event, firstAt: 1e20 }], { ...session, settings: [["a"]] }, "x".repeat(70_000), "__proto__"),
);
const message = fc.record(
  {
    type: fc.oneof(fc.constantFrom(...kinds), fc.string({ maxLength: 5 })),
    id: fc.oneof(fc.constant(0), odd),
    ...{ session: odd, events: odd, change: odd, unused: odd, pipe: odd, received: odd, running: odd, lastAt: odd },
  },
  { requiredKeys: ["type"] },
);

test("messages of any form are refused, or leave only what is well-formed", () => {
  const property = fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
    const { child, sender, seen, tell } = senderOf();
    for (const one of messages) tell(one);
    child.emit("exit", 1, null);
    // Outside of what the guard of the channel catches.
    child.emit("close", 1, null);
    expect(sender.held).toBe(0);
    expect(seen.back.length + seen.destroyed).toBe(1);
    for (const native of seen.back) {
      if (native === undefined) continue;
      expect(native).toMatchObject({ user: expect.any(String), settings: expect.any(Array) });
    }
    for (const { event: one, count, firstAt } of seen.events.flat()) {
      expect([typeof one.user, typeof one.detail, Number.isSafeInteger(count)]).toEqual(["string", "string", true]);
      expect(() => new Date(firstAt).toISOString()).not.toThrow();
    }
    expect(sender.activity.running).toBeGreaterThanOrEqual(0);
    expect(sender.activity.lastAt).toBeLessThanOrEqual(Date.now());
  });
  fc.assert(property, { numRuns: 2_000, seed: 20_261_124 });
});

test.each<[string, object]>([
  ["null as a message of events", { type: "events", events: null }],
  ["an event without a text", { type: "events", events: [{ ...event, event: { ...event.event, user: {} } }] }],
  [
    "a type that only the server has",
    { type: "events", events: [{ ...event, event: { ...event.event, type: "leftover_given_up" } }] },
  ],
  ["a time that is not a date", { type: "events", events: [{ ...event, firstAt: Number.NaN }] }],
  ["events without end", { type: "events", events: Array(1_001).fill(event) }],
  ["a session that is none", { type: "session", id: 0, session: null }],
  [
    "a large session",
    { type: "session", id: 0, session: { ...session, settings: Array(2_000).fill(["a", "x".repeat(99)]) } },
  ],
])("%s is refused", (_, told) => {
  expect(senderOf().tell(told)).toBe(false);
});

test("what hosts say is passed on", () => {
  const { seen, tell } = senderOf();
  expect(tell({ type: "events", events: [event] })).toBe(true);
  const changed = { ...session, parameters: [["p", "2"]] };
  expect(tell({ type: "session", id: 0, session: changed })).toBe(true);
  expect(tell({ type: "released", id: 0 })).toBe(true);
  expect(seen).toEqual({ events: [[event]], back: [changed], destroyed: 0 });
});

test("a use that lies ahead, because the clock was set back, is one of now", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 });
  try {
    const { sender, tell } = senderOf();
    tell({ type: "activity", running: 0, lastAt: Date.now() });
    vi.setSystemTime(1_600_000_000_000);
    expect(sender.activity).toEqual({ running: 0, lastAt: 1_600_000_000_000 });
    vi.advanceTimersByTime(60_000);
    expect(sender.activity.lastAt).toBe(1_600_000_000_000);
  } finally {
    vi.useRealTimers();
  }
});

test("a host whose end is not seen yet does not keep this process from seeing it", async () => {
  const child = spawn(process.execPath, ["-e", "process.on('message', () => {})"], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  await once(child, "spawn");
  const sender = new HandoffSender(child, dir);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  child.kill("SIGKILL");
  // Its channel is closed before its end is seen.
  child.disconnect();
  let sent = 0;
  const ended = new Promise<void>((resolve) => {
    const again = () => {
      // As the gateway does with a client of the native protocol.
      if (!sender.open || sent === 100_000) return resolve();
      sent += 1;
      sender.send(socket, again, "new");
    };
    again();
  });
  await ended;
  socket.destroy();
  server.close();
  expect(sent).toBeLessThan(100_000);
});
