/** What a step of the wall clock means to rows that applications send: nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SteppedClock, steppedClockMissing } from "../../../harness/clock/stepped-clock.ts";
import { rows } from "../../../harness/pipes.ts";
import { type PushAddress, pushPipe, send } from "../../../harness/push/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

if (steppedClockMissing !== undefined) console.warn(`skipped: ${steppedClockMissing}`);

const hour = 3_600;
/** Beyond the window of idempotency keys, which is a day, in both directions. */
const steps = [-hour, 3 * hour, -49 * hour, 49 * hour, 0];

describe.skipIf(steppedClockMissing !== undefined)("a step of the clock", () => {
  let clock: SteppedClock;
  let served: Served;
  let service: BenchService;
  let to: PushAddress;

  beforeAll(async () => {
    clock = new SteppedClock();
    served = await serve({ env: { ...clock.env, MILLRACE_IDLE_MINUTE_MS: "200" } });
    service = await runningService(served, { idleTimeoutMinutes: 5 });
    to = await pushPipe(served, service, "stepped", { source: { wakeAfterSeconds: 2 } });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    clock?.[Symbol.dispose]();
  });

  const progress = async () =>
    (await served.api.getPipe({ params: { ...service.params, pipeId: to.pipeId } })).progress;
  const untilLoaded = async (count: number) =>
    await until(`${count} rows are loaded`, async () => (await progress()).sentRows === count);
  const sendBody = (n: number) => {
    const url = `${served.credentials.baseUrl}/v1/push/${to.pipeId}`;
    return send({ url, key: to.key }, rows(n * 10, n * 10 + 10), { headers: { "idempotency-key": `body ${n}` } });
  };
  /** By how many seconds the server's clock differs from ours, as its answers say. */
  const ahead = async () => {
    const { headers } = await sendBody(0);
    return (Date.parse(headers.get("date") as string) - Date.now()) / 1_000;
  };

  test("keeps every key, and rows are loaded by their age", async () => {
    expect((await sendBody(0)).body.result).toEqual({ offset: 0, rows: 10 });
    for (const [at, seconds] of steps.entries()) {
      clock.stepTo(seconds);
      // Node writes the date of its answers anew every second.
      await until("the server has the new time", async () => Math.abs((await ahead()) - seconds) < hour / 2);
      const n = at + 1;
      expect((await sendBody(n)).body.result).toEqual({ offset: n * 10, rows: 10 });
      for (let before = 0; before <= n; before += 1) {
        expect((await sendBody(before)).body.result, `body ${before}, clock at ${seconds}`).toEqual({
          ...{ offset: before * 10, rows: 10, repeated: true },
        });
      }
      await untilLoaded(n * 10 + 10);
    }
  });

  test("backwards wakes a service that sleeps when its rows are old enough", async () => {
    const state = async () => (await served.api.getService({ params: service.params })).state;
    await until("the service sleeps", async () => (await state()) === "idle");
    clock.stepTo(-24 * hour);
    const n = steps.length + 1;
    expect((await sendBody(n)).status).toBe(202);
    await untilLoaded(n * 10 + 10);
  });

  test("is survived by a restart: keys and ages that lie in the future are those of now", async () => {
    const n = steps.length + 2;
    clock.stepTo(hour);
    expect((await sendBody(n)).status).toBe(202);
    clock.stepTo(-hour);
    served = await served.restartAfterKill();
    for (let before = 0; before <= n; before += 1) {
      expect((await sendBody(before)).body.result).toEqual({ offset: before * 10, rows: 10, repeated: true });
    }
    await untilLoaded(n * 10 + 10);
    expect(await query(service, "SELECT count(), uniqExact(id) FROM stepped FORMAT TSV")).toBe(
      `${n * 10 + 10}\t${n * 10 + 10}`,
    );
  });
});
