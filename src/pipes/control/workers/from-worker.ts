/** Messages of worker processes, which are untrusted: a worker parses what foreign sources send. */
import { z } from "zod";
import type { FromWorker } from "../../protocol.ts";

const slot = z.number().int();
const message = z.discriminatedUnion("type", [
  z.object({ type: z.literal("load"), utilization: z.number() }),
  z.object({ type: z.literal("fault"), slot }),
  z.object({ type: z.literal("ended"), slot, failed: z.boolean() }),
  z.object({ type: z.literal("gauges"), slot, gauges: z.record(z.string(), z.number().nullable()) }),
  z.object({ type: z.literal("call"), slot, id: z.number().int(), name: z.string(), args: z.array(z.unknown()) }),
  z.object({
    type: z.literal("status"),
    slot,
    status: z.discriminatedUnion("phase", [
      z.object({ phase: z.enum(["preparing", "snapshot", "running", "stopped"]) }),
      z.object({ phase: z.literal("completed"), refusal: z.string().optional() }),
      z.object({
        phase: z.enum(["degraded", "failed"]),
        reason: z.string(),
        isSourceAway: z.boolean().optional(),
      }),
    ]),
  }),
]);

/** Throws when the message has not the form of a worker's. Arguments of calls are not checked. */
export function readFromWorker(received: unknown): FromWorker {
  const { success, error } = message.safeParse(received);
  if (success) return received as FromWorker;
  const [issue] = error.issues;
  throw new Error(`${issue?.path.join(".")}: ${issue?.message}`);
}
