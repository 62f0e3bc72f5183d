/**
 * Connections that the gateway hands over to the engine host: the same authentication, returned without loss, and no
 * leaks.
 */
import { readdirSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Stage, sha256, stageService } from "../../../harness/engine/stage.ts";
import { OneConnection } from "../../../harness/network/one-connection.ts";
import { until } from "../../../harness/serve.ts";
import { Gateway } from "../../../src/endpoint/gateway/gateway.ts";
import { createLogger } from "../../../src/lib/logger.ts";

let stage: Stage;
let client: OneConnection;
const login = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": "secret" };
const port = () => stage.gateway.portOf("s") as number;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => await stage.close());
beforeEach(() => {
  stage.leases = 0;
  client = new OneConnection(port(), login);
});
afterEach(async () => {
  client.close();
  await stage.gateway.sync([stageService]);
});

const slow = (seconds: number) =>
  `SELECT sum(sleepEachRow(0.1)) FROM numbers(${seconds * 10}) SETTINGS max_block_size=1`;
const running = (id: string) => async () =>
  (await stage.ok(`SELECT count() FROM system.processes WHERE query LIKE '%${id}%'`)) === "2";

describe("the gatekeeper", () => {
  test("requests pass no other process, and keep their connection", async () => {
    const first = await client.send("SELECT 1");
    const second = await client.send("SELECT 2");
    expect([first.text, second.text, stage.leases]).toEqual(["1", "2", 0]);
    expect(second.localPort).toBe(first.localPort);
  });

  test("trusted headers of a client do nothing", async () => {
    const reader = { "X-ClickHouse-User": "reader", "X-ClickHouse-Key": "reader", "X-Millrace-Readonly": "0" };
    expect((await client.send("CREATE TABLE no (a Int8) ORDER BY a", reader)).text).toMatch(/^Code: (164|497)\./);
    const internal = { "X-Millrace-Internal": "1", "X-Millrace-User": "somebody" };
    expect((await client.send("BACKUP DATABASE default TO File('/tmp/x')", internal)).text).toMatch(/^Code: \d+\./);
    // Sessions belong to the authenticated user, whatever the header says.
    await stage.ok("CREATE TEMPORARY TABLE mine (a Int8)", { session_id: "s" });
    const asDefault = { headers: { ...reader, "X-Millrace-User": "default" } };
    expect((await stage.query("SELECT count() FROM mine", { session_id: "s" }, asDefault)).text).toMatch(/^Code: 60\./);
    expect(stage.leases).toBe(0);
  });

  test("a session is the same one through the gateway's process", async () => {
    await stage.ok("CREATE TEMPORARY TABLE both (a Int8)", { session_id: "both" });
    stage.handsOff = false;
    const other = new OneConnection(port(), login);
    const { hostname } = new URL(stage.url);
    const answer = await fetch(`http://${hostname}:${port()}/?session_id=both`, {
      method: "POST",
      body: "SELECT count() FROM both",
      headers: { ...login, Connection: "close" },
    });
    stage.handsOff = true;
    other.close();
    expect(await answer.text()).toBe("0\n");
  });

  test("new passwords and access lists hold from the next request on, on open connections", async () => {
    const users = [{ name: "default", passwordSha256Hex: sha256("new"), readonly: true }];
    const { localPort } = await client.send("SELECT 1");
    await stage.gateway.sync([{ ...stageService, users }]);
    expect(await client.send("SELECT 1")).toMatchObject({ status: 403, localPort });
    // A refused request closes its connection.
    const withNew = { "X-ClickHouse-Key": "new" };
    const next = await client.send("SELECT 1", withNew);
    expect(next.status).toBe(200);
    expect((await client.send("CREATE TABLE no (a Int8) ORDER BY a", withNew)).text).toMatch(/^Code: (164|497)\./);
    await stage.gateway.sync([{ ...stageService, users, ipAccessList: [{ source: "10.0.0.0/8" }] }]);
    const refused = await client.send("SELECT 1", withNew);
    expect(refused).toMatchObject({ status: 403, localPort: next.localPort });
    expect(refused.text).toContain("127.0.0.1 is not allowed");
    expect((await client.ping()).status).toBe(403);
    expect(stage.leases).toBe(0);
  });

  test("guessing is slowed down, and keeps nobody out who has the password", async () => {
    const stranger = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": "no" };
    const own = await Stage.open();
    try {
      const guesser = new OneConnection(own.gateway.portOf("s") as number, stranger);
      const before = performance.now();
      for (let i = 0; i < 7; i += 1) expect((await guesser.send("SELECT 1")).status).toBe(403);
      expect(performance.now() - before).toBeGreaterThan(1_000);
      expect((await guesser.send("SELECT 1", login)).status).toBe(200);
      guesser.close();
    } finally {
      await own.close();
    }
  });
});

test("names of a megabyte that may not log in do not end the engine", async () => {
  const own = await Stage.open();
  try {
    await own.ok("SELECT 1");
    const attempts = Array.from({ length: 60 }, async (_, at) => {
      const name = `${at}${"u".repeat(900_000)}`;
      const answer = await fetch(`${own.url}/?user=${name}&password=no`, { method: "POST", body: "SELECT 1" });
      return answer.status;
    });
    expect(new Set(await Promise.all(attempts))).toContain(403);
    // Events are told once a second.
    const ended = await Promise.race([own.host.exited, delay(3_000, "alive")]);
    expect(ended).toBe("alive");
    expect(await own.ok("SELECT 2")).toBe("2");
  } finally {
    await own.close();
  }
});

describe("draining", () => {
  test("an open connection comes back between two requests, and its next one goes through the gateway", async () => {
    const { localPort } = await client.send("SELECT 1");
    const silent = connect(port(), "127.0.0.1");
    await new Promise((resolve) => silent.once("connect", resolve));
    stage.handsOff = false;
    expect(await stage.host.handoff.drain({ graceMs: 5_000 })).toBe(true);
    expect(await client.send("SELECT 2")).toMatchObject({ status: 200, text: "2", localPort, closes: false });
    silent.write("GET /ping HTTP/1.1\r\nHost: x\r\n\r\n");
    const answer = await new Promise((resolve) => silent.once("data", (chunk) => resolve(String(chunk))));
    expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
    silent.destroy();
    expect(stage.leases).toBe(1);
    stage.handsOff = true;
    // Now that the engine accepts connections again, the next response closes this one, and the one after it is direct.
    expect(await client.send("SELECT 3")).toMatchObject({ text: "3", localPort, closes: true });
    const direct = await client.send("SELECT 4");
    expect(direct.text).toBe("4");
    expect(direct.localPort).not.toBe(localPort);
    expect(stage.leases).toBe(2);
  });

  test("no request is lost: clients that never stop asking see only answers", async () => {
    const over = { now: false };
    const clients = Array.from({ length: 6 }, () => new OneConnection(port(), login));
    const loops = clients.map(async (each, index) => {
      let answers = 0;
      for (; !over.now; answers += 1) {
        expect(await each.send(`SELECT ${answers}, '${"x".repeat(index * 1000)}'`)).toMatchObject({ status: 200 });
      }
      return answers;
    });
    for (let round = 0; round < 40; round += 1) {
      stage.handsOff = false;
      expect(await stage.host.handoff.drain({ graceMs: 10_000 })).toBe(true);
      stage.handsOff = true;
      await delay(round % 7);
    }
    over.now = true;
    expect(Math.min(...(await Promise.all(loops)))).toBeGreaterThan(5);
    for (const each of clients) each.close();
    expect(stage.leases).toBeGreaterThan(0);
  });

  test("a query under way is finished", async () => {
    const answer = client.send(slow(1));
    await until("it runs", running("sleepEachRow"));
    expect(await stage.host.handoff.drain({ graceMs: 20_000 })).toBe(true);
    expect(await answer).toMatchObject({ status: 200, text: "0" });
  });

  test("a query that takes too long gets a clear error", async () => {
    const answer = client.send(slow(30));
    await until("it runs", running("sleepEachRow"));
    expect(await stage.host.handoff.drain({ graceMs: 100 })).toBe(true);
    const { status, text } = await answer;
    expect([status, text]).toEqual([503, expect.stringMatching(/^Code: 210\..*service is being stopped/)]);
  });

  test("an engine in use is not drained for idling, and nobody notices that it was asked", async () => {
    const answer = client.send(slow(1));
    await until("it runs", running("sleepEachRow"));
    await until("it is reported", async () => stage.host.handoff.activity.running > 0);
    expect(await stage.host.handoff.drain({ graceMs: 100, unusedForMs: 0 })).toBe(false);
    expect(await answer).toMatchObject({ status: 200, text: "0" });
    expect(await stage.host.handoff.drain({ graceMs: 100, unusedForMs: 60_000 })).toBe(false);
    await until("the end is reported", async () => stage.host.handoff.activity.running === 0);
    expect(Date.now() - stage.host.handoff.activity.lastAt).toBeLessThan(30_000);
    expect(await stage.host.handoff.drain({ graceMs: 100, unusedForMs: 0 })).toBe(true);
  });
});

describe("processes and file descriptors", () => {
  /** Sockets of a process; the engine's threads open and close descriptors of their own. */
  const sockets = (pid: number) =>
    readdirSync(`/proc/${pid}/fd`).filter((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith("socket:");
      } catch {
        return false;
      }
    }).length;

  test("a thousand short connections, many of them at once, leave nothing behind in either process", async () => {
    const before = [process.pid, stage.host.pid].map(sockets);
    const one = async (index: number) => {
      const each = new OneConnection(port(), login);
      // Every kind of end: by the server, by the client, during a request, without one.
      if (index % 4 === 0) expect((await each.send("SELECT 1", { Connection: "close" })).text).toBe("1");
      else if (index % 4 === 1) expect((await each.ping()).status).toBe(200);
      else {
        const socket = connect(port(), "127.0.0.1");
        socket.on("error", () => {});
        await new Promise((resolve) => socket.once("connect", resolve));
        if (index % 4 === 2) socket.write("POST / HTTP/1.1\r\nHost:");
        socket.destroy();
      }
      each.close();
    };
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => one(index)));
    }
    await until("both are as before", async () =>
      [process.pid, stage.host.pid].every((pid, at) => sockets(pid) <= (before[at] as number)),
    );
    expect(stage.leases).toBe(0);
  });

  test("kill -9 of the host: a connection that it had not taken yet is answered by its successor", async () => {
    process.kill(stage.host.pid, "SIGSTOP");
    const waiting = client.send("SELECT 'after'");
    waiting.catch(() => {});
    await until("it was handed over", async () => stage.host.handoff.held > 0);
    process.kill(stage.host.pid, "SIGKILL");
    await stage.host.exited;
    await stage.restart();
    expect(await waiting).toMatchObject({ status: 200, text: "after" });
    expect(stage.leases).toBeGreaterThan(0);
  });

  test("kill -9 of the host: a connection with a request in hand breaks, others go on", async () => {
    const other = new OneConnection(port(), login);
    const { localPort } = await other.send("SELECT 1");
    const answer = client.send(slow(30));
    answer.catch(() => {});
    await until("it runs", running("sleepEachRow"));
    process.kill(stage.host.pid, "SIGKILL");
    await expect(answer).rejects.toThrow();
    await stage.host.exited;
    await stage.restart();
    expect(await other.send("SELECT 2")).toMatchObject({ status: 200, text: "2", localPort });
    expect(await client.send("SELECT 3")).toMatchObject({ status: 200, text: "3" });
    other.close();
  });

  test("kill -9 of the host: a gateway that gets its connections back closes without waiting for anything", async () => {
    const { host } = stage;
    const logger = createLogger("fatal");
    const acquire = () => Promise.reject(new Error("no request passes the gateway here"));
    const handoff = () => (host.handoff.open ? host.handoff : undefined);
    const gateway = new Gateway({ logger, backend: { acquire, handoff }, closeGraceMs: 1_000_000 });
    await gateway.sync([stageService]);
    const other = new OneConnection(gateway.portOf("s") as number, login);
    expect(await other.send("SELECT 1")).toMatchObject({ status: 200, text: "1" });
    process.kill(host.pid, "SIGKILL");
    await host.exited;
    await gateway.close();
    other.close();
    await stage.restart();
  });
});
