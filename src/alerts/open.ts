/** Opens the room of alerts: one loop evaluates them, another one tells their changes. */
import type { Charts } from "../charts/charts.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";
import { Dialer } from "../outgoing/dialer.ts";
import { agentsOf } from "../outgoing/http.ts";
import type { OutgoingPolicy } from "../outgoing/policy.ts";
import type { Stores } from "../store/open.ts";
import { deliverNotifications } from "./delivery.ts";
import { evaluateAlerts } from "./evaluation.ts";

export type AlertsOptions = {
  readonly config: Config;
  readonly stores: Pick<Stores, "alerts" | "alertEvaluations" | "webhooks" | "savedSearches" | "dashboards">;
  readonly charts: Charts;
  /** Where webhooks may be. */
  readonly policy: OutgoingPolicy;
  readonly logger: Logger;
};

/** How late after the end of its window an alert is evaluated at most, when nothing else is slow. */
const everyMs = 5_000;

export function openAlerts({ config, stores, charts, policy, logger }: AlertsOptions) {
  const evaluations = stores.alertEvaluations;
  const deliveries = {
    ...{ evaluations, webhooks: stores.webhooks, publicUrl: config.publicUrl?.replace(/\/+$/, "") ?? "" },
    // Every notification has a connection of its own.
    agents: agentsOf(new Dialer(policy, "url"), { keepAlive: false }),
  };
  const deliveryLoop = new Loop({
    ...{ name: "alertNotifications", everyMs, logger },
    body: (signal) => deliverNotifications(deliveries, signal),
  });
  const retryAt = new Map<string, number>();
  const loop = new Loop({
    ...{ name: "alerts", everyMs, logger },
    body: async (signal) => {
      await evaluateAlerts({ ...stores, evaluations, charts, retryAt, logger }, signal);
      deliveryLoop.poke();
    },
  });
  /** `poke` requests an evaluation as soon as possible. */
  return { loops: [loop, deliveryLoop], poke: () => loop.poke() };
}
