import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { rows } from "../harness/pipes.ts";
import { pushPipe, send } from "../harness/push/pipes.ts";
import { random } from "../harness/random.ts";
import { query, runningService, type Served, serve, until } from "../harness/serve.ts";

export const description =
  "senders that repeat every request until it is answered, while server, engine and worker are killed and the service sleeps";

const senders = 8;
const rowsPerBody = 20;
const seconds = Number(process.env.SOAK_SECONDS ?? 60);

export async function run(): Promise<Record<string, string | number>> {
  const seeds = (process.env.SOAK_SEEDS ?? "1,2").split(",").map(Number);
  const totals = { bodies: 0, repeats: 0, kills: 0 };
  for (const seed of seeds) {
    const { bodies, repeats, kills } = await soak(seed);
    totals.bodies += bodies;
    totals.repeats += repeats;
    totals.kills += kills;
  }
  return { seeds: seeds.join(), ...totals, rows: totals.bodies * rowsPerBody };
}

async function soak(seed: number) {
  const next = random(seed);
  let served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "300", MILLRACE_LOG_LEVEL: "silent" } });
  try {
    const service = await runningService(served, { idleTimeoutMinutes: 5 });
    const to = await pushPipe(served, service, "soaked", { source: { wakeAfterSeconds: 2 } });
    const end = Date.now() + seconds * 1_000;
    const counts = { bodies: 0, repeats: 0, kills: 0 };
    const url = () => `${served.credentials.baseUrl}/v1/push/${to.pipeId}`;
    const sending = Array.from({ length: senders }, () => sender({ url, key: to.key }, counts, next, end));
    while (Date.now() < end) {
      await delay(1_000 + next() * 4_000);
      served = await kill(served, { serviceId: service.id, pipeId: to.pipeId }, next());
      counts.kills += 1;
    }
    await Promise.all(sending);
    const params = { ...service.params, pipeId: to.pipeId };
    await until("everything is loaded", async () => {
      const { progress } = await served.api.getPipe({ params });
      return progress.lagMessages === 0;
    });
    const sent = counts.bodies * rowsPerBody;
    const found = await query(service, "SELECT count(), uniqExact(id), max(id) FROM soaked FORMAT TSV");
    const wanted = `${sent}\t${sent}\t${sent - 1}`;
    if (found !== wanted) throw new Error(`seed ${seed}: found ${found}, expected ${wanted}`);
    return counts;
  } finally {
    await served[Symbol.asyncDispose]();
  }
}

/** Sends bodies of its own, each until it is answered. */
async function sender(
  to: { readonly url: () => string; readonly key: string },
  counts: { bodies: number; repeats: number },
  next: () => number,
  end: number,
): Promise<void> {
  while (Date.now() < end) {
    const n = counts.bodies;
    counts.bodies += 1;
    const headers = { "idempotency-key": `body-${n}` };
    const body = rows(n * rowsPerBody, (n + 1) * rowsPerBody);
    for (;;) {
      const answered = await send({ url: to.url(), key: to.key }, body, { headers }).catch(() => undefined);
      // Some answers get lost on the way.
      if (answered !== undefined && answered.status < 300 && next() > 0.1) break;
      counts.repeats += 1;
      await delay(50);
    }
    await delay(next() * 100);
  }
}

/** Kills the server, the engine of the service, or the worker of the pipe: what of them is running. */
async function kill(served: Served, { serviceId, pipeId }: Victims, chance: number): Promise<Served> {
  if (chance < 0.4) return await served.restartAfterKill();
  const file = chance < 0.7 ? join("services", serviceId, "engine.pid") : join("pipes", `${pipeId}.pid`);
  const path = join(served.dataDir, file);
  const pid = existsSync(path) ? Number.parseInt(readFileSync(path, "utf8"), 10) : Number.NaN;
  try {
    if (pid > 1) process.kill(pid, "SIGKILL");
  } catch (error) {
    // It has ended since.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
  return served;
}

type Victims = { readonly serviceId: string; readonly pipeId: string };
