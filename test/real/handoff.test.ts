/**
 * Handed-over connections of a whole server: they count as activity, stay open while the service is idle, lose nothing.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OneConnection, type RawAnswer } from "../../harness/network/one-connection.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../harness/serve.ts";

const idleMs = 100;

let served: Served;
let service: BenchService;
beforeAll(async () => {
  // A minute of idleTimeoutMinutes lasts 20 ms here.
  served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: String(idleMs / 5) } });
  service = await runningService(served, { idleTimeoutMinutes: 5 });
  await query(service, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
  await query(service, "INSERT INTO t SELECT number FROM numbers(1000)");
});
afterAll(() => served[Symbol.asyncDispose]());

const state = async () => (await served.api.getService({ params: service.params })).state;
const command = (name: "start" | "stop") =>
  served.api.updateServiceState({ params: service.params, body: { command: name } });
const open = () =>
  new OneConnection(service.port, { "X-ClickHouse-User": "default", "X-ClickHouse-Key": service.password });
const counts = (said: RawAnswer) => said.status === 200 && said.text === "1000";

/** A connection that was handed over: the response that wakes a service closes its own. */
async function direct(client: OneConnection): Promise<RawAnswer> {
  for (;;) {
    const said = await client.send("SELECT count() FROM t");
    expect(said).toMatchObject({ status: 200, text: "1000" });
    if (!said.closes) return said;
  }
}

describe("idling", () => {
  test("is not reached while a handed-over connection runs a query, and the time counts from its end", async () => {
    const client = open();
    await direct(client);
    const states = new Set<string>();
    const over = { now: false };
    const watching = (async () => {
      for (; !over.now; await delay(20)) states.add(await state());
    })();
    const begun = Date.now();
    const said = await client.send("SELECT sum(sleepEachRow(0.1)) FROM numbers(20) SETTINGS max_block_size = 1");
    over.now = true;
    await watching;
    expect(said).toMatchObject({ status: 200, text: "0", closes: false });
    expect([...states]).toEqual(["running"]);
    const lastQueryAt = async () =>
      (await served.api.getService({ params: service.params })).idle.lastQueryAt as string;
    // The end of the query counts, not its beginning: it takes two seconds.
    await until("its end is known", async () => Date.parse(await lastQueryAt()) - begun > 1_500);
    client.close();
  });

  test("is reached by a connection that only stays open, and its next query wakes the service", async () => {
    const client = open();
    const { localPort } = await direct(client);
    await until("idle", async () => (await state()) === "idle");
    expect(await client.ping()).toMatchObject({ status: 200, localPort });
    expect(await state()).toBe("idle");
    const woken = await client.send("SELECT count() FROM t");
    expect(woken).toMatchObject({ status: 200, text: "1000", localPort, closes: true });
    expect(await client.send("SELECT count() FROM t")).toMatchObject({ text: "1000", closes: false });
    client.close();
  });

  test("loses no query of clients that ask just when it begins", async () => {
    const clients = Array.from({ length: 3 }, open);
    const wrong: RawAnswer[] = [];
    let woken = 0;
    await Promise.all(
      clients.map(async (client, index) => {
        // On a busy machine the clients may keep each other's service from idling for long.
        for (let round = 0; round < 25 || woken === 0; round += 1) {
          const said = await client.send("SELECT count() FROM t");
          if (!counts(said)) wrong.push(said);
          if (said.closes) woken += 1;
          await delay(idleMs + 40 * ((round * (index + 2)) % 5) - 40);
        }
        client.close();
      }),
    );
    expect(wrong).toEqual([]);
  });
});

describe("stop and start", () => {
  test("clients that never stop asking see complete answers and clear errors only", async () => {
    const over = { now: false };
    const clients = Array.from({ length: 4 }, open);
    const seen = { answers: 0, refused: 0 };
    const loops = clients.map(async (client) => {
      for (; !over.now; ) {
        // A broken connection would reject here.
        const said = await client.send("SELECT count() FROM t WHERE sleepEachRow(0.00001) = 0");
        if (counts(said)) seen.answers += 1;
        else if (said.status === 503 && /^Code: 210\./.test(said.text)) seen.refused += 1;
        else throw new Error(`${said.status}: ${said.text}`);
      }
    });
    for (let round = 0; round < 3; round += 1) {
      await until("some answers", async () => seen.answers > 20 * (round + 1));
      await command("stop");
      await until("stopped", async () => (await state()) === "stopped");
      const before = seen.refused;
      await until("some refusals", async () => seen.refused > before);
      await command("start");
      await until("running", async () => (await state()) === "running");
      seen.answers = 20 * (round + 1);
    }
    over.now = true;
    await Promise.all(loops);
    for (const client of clients) client.close();
  });
});
