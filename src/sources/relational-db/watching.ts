/** Looks at the pipe's slot while the pipe follows it. */
import type pg from "pg";
import { childOf, sleep } from "../../lib/abort.ts";
import type { SourceContext } from "../source.ts";
import type { RelationalDbConfig } from "./kind.ts";
import { login } from "./login.ts";
import { WalWatch } from "./wal-budget.ts";

const pauseMs = 10_000;
const warningKey = "slot";

/**
 * Reports the gauges of the slot every ten seconds and warns while there is time, until it is disposed or the signal
 * aborts. An outage of the source is left to the stream, which sees it too.
 */
export function watchSlot(
  config: RelationalDbConfig,
  slot: string,
  context: Pick<SourceContext, "report" | "warn">,
  signal: AbortSignal,
): AsyncDisposable {
  const ending = childOf(signal);
  const done = watch(config, slot, context, ending.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      ending[Symbol.dispose]();
      await done;
    },
  };
}

async function watch(
  config: RelationalDbConfig,
  slot: string,
  context: Pick<SourceContext, "report" | "warn">,
  signal: AbortSignal,
): Promise<void> {
  const watcher = new WalWatch(slot);
  let client: pg.Client | undefined;
  while (!signal.aborted) {
    try {
      client ??= await login(config, {}, signal);
      const { gauges, warning, lost } = await watcher.poll(client);
      context.report(gauges as Record<string, number>);
      context.warn(warningKey, lost ?? warning);
    } catch {
      await client?.end().catch(() => {});
      client = undefined;
    }
    await sleep(pauseMs, signal);
  }
  await client?.end().catch(() => {});
}
