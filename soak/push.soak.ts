import { setTimeout as delay } from "node:timers/promises";
import { rows } from "../harness/pipes.ts";
import { Ordeal, ofSeeds } from "../harness/push/ordeal.ts";
import { pushPipe, send } from "../harness/push/pipes.ts";
import { Dice } from "../harness/random.ts";
import { query } from "../harness/serve.ts";

export const description =
  "senders that repeat every request until it is answered, while everything is killed, the disk fills up and the service sleeps";

const senders = 8;
const rowsPerBody = 20;

export async function run(): Promise<Record<string, string | number>> {
  return await ofSeeds(soak);
}

async function soak(seed: number): Promise<Record<string, number>> {
  await using ordeal = await Ordeal.begin(seed);
  const { pipeId, key } = await pushPipe(ordeal.served, ordeal.service, "soaked", { source: { wakeAfterSeconds: 2 } });
  ordeal.pipeId = pipeId;
  const counts = { bodies: 0, repeats: 0 };
  /** Sends bodies of its own, each until it is answered. */
  const sending = Array.from({ length: senders }, async (_, at) => {
    const dice = new Dice(seed * 1_000 + at);
    while (!ordeal.isOver) {
      await ordeal.mayGoOn();
      const n = counts.bodies;
      counts.bodies += 1;
      const headers = { "idempotency-key": `body-${n}` };
      const body = rows(n * rowsPerBody, (n + 1) * rowsPerBody);
      for (;;) {
        const url = `${ordeal.served.credentials.baseUrl}/v1/push/${pipeId}`;
        const answered = await send({ url, key }, body, { headers }).catch(() => undefined);
        // Some answers get lost on the way.
        if (answered !== undefined && answered.status < 300 && !dice.chance(0.1)) break;
        counts.repeats += 1;
        await delay(50);
      }
      await delay(dice.next() * 100);
    }
  });
  await ordeal.endure();
  await Promise.all(sending);
  await ordeal.drained();
  const sent = counts.bodies * rowsPerBody;
  const found = await query(ordeal.service, "SELECT count(), uniqExact(id), max(id) FROM soaked FORMAT TSV");
  const wanted = `${sent}\t${sent}\t${sent - 1}`;
  if (found !== wanted) throw new Error(`seed ${seed}: found ${found}, expected ${wanted}`);
  return { ...counts, rows: sent, ...ordeal.counts };
}
