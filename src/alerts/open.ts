/** Opens the room of alerts: one loop evaluates them, another one tells their changes. */
import type { Charts } from "../charts/charts.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";
import { Dialer } from "../outgoing/dialer.ts";
import { agentsOf } from "../outgoing/http.ts";
import type { OutgoingPolicy } from "../outgoing/policy.ts";
import { isLedHere } from "../store/nodes/leases.ts";
import type { LeasedStores } from "../store/open.ts";
import { deliverNotifications } from "./delivery.ts";
import { type EvaluationDeps, evaluateAlerts } from "./evaluation.ts";

export type AlertsOptions = {
  readonly config: Config;
  readonly stores: Pick<
    LeasedStores,
    "alerts" | "alertEvaluations" | "webhooks" | "savedSearches" | "dashboards" | "chartSources" | "leases"
  >;
  readonly charts: Charts;
  readonly statesOf: EvaluationDeps["statesOf"];
  /** Where webhooks may be. */
  readonly policy: OutgoingPolicy;
  readonly logger: Logger;
};

/** How late after the end of its window an alert is evaluated at most, when nothing else is slow. */
const everyMs = 5_000;

export function openAlerts({ config, stores, charts, statesOf, policy, logger }: AlertsOptions) {
  const evaluations = stores.alertEvaluations;
  const deliveries = {
    ...{ evaluations, webhooks: stores.webhooks, publicUrl: config.publicUrl?.replace(/\/+$/, "") ?? "" },
    // Every notification has a connection of its own.
    agents: agentsOf(new Dialer(policy, "url"), { keepAlive: false }),
  };
  const deliveryLoop = new Loop({
    ...{ name: "alertNotifications", everyMs, logger },
    body: async (signal) => {
      if (await isLedHere(stores.leases, "alert notifications")) await deliverNotifications(deliveries, signal);
    },
  });
  const retryAt = new Map<string, number>();
  // An alert on a source that is gone fails in every process, and is recorded by one, which also reads states.
  const isOurs = async (organizationId: string, sourceId: string) => {
    const source = await stores.chartSources.find(organizationId, sourceId);
    if (source === undefined) return await isLedHere(stores.leases, "alerts without a service");
    return stores.leases.holds("service", source.serviceId);
  };
  const loop = new Loop({
    ...{ name: "alerts", everyMs, logger },
    body: async (signal) => {
      await evaluateAlerts({ ...stores, evaluations, charts, statesOf, isOurs, retryAt, logger }, signal);
      deliveryLoop.poke();
    },
  });
  /** `poke` requests an evaluation as soon as possible. */
  return { loops: [loop, deliveryLoop], poke: () => loop.poke() };
}
