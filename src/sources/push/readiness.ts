/** When there is enough in an inbox to load it. */
import type { JsonObject } from "../../lib/json.ts";
import type { PushConfig } from "./declaration/kind.ts";
import type { Readiness } from "./inbox/inbox.ts";

/** While the service is awake: a full batch, or as long as the pipe may wait. */
const full = { rows: 100_000, bytes: 32_000_000 };
const defaultWaitMs = 5_000;
const defaultWake = { rows: 10_000, bytes: 16 * 2 ** 20, seconds: 60 };

type Pipe = { readonly config: JsonObject; readonly settings: Readonly<Record<string, number | boolean>> };

export function readinessOf({ config, settings }: Pipe, isAwake: boolean): Readiness {
  if (isAwake) return { ...full, ageMs: Number(settings.streaming_max_insert_wait_ms ?? defaultWaitMs) };
  const { wakeAfterRows, wakeAfterBytes, wakeAfterSeconds } = config as Partial<PushConfig>;
  return {
    rows: wakeAfterRows ?? defaultWake.rows,
    bytes: wakeAfterBytes ?? defaultWake.bytes,
    ageMs: (wakeAfterSeconds ?? defaultWake.seconds) * 1_000,
  };
}
