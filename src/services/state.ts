/**
 * What to do with a service, as a total table: desired state x actual state -> action.
 *
 * provisioning  created, its engine has not run yet          -> running, failed
 * starting      engine being started on request or reboot    -> running, degraded
 * awaking       engine being started because of a query      -> running, degraded
 * running       engine answers                                -> stopping, idle, degraded
 * degraded      engine died; it is being started again        -> running, failed
 * failed        engine does not start; waits for `start`      -> starting, stopped
 * idle          engine ended for want of queries              -> awaking, stopped
 * stopping      engine being ended on request                 -> stopped
 * stopped       no engine until `start`                       -> starting
 * terminating   engine and data being removed                 -> gone
 */
import type { ServiceState } from "../api/services.ts";
import type { DesiredServiceState } from "../store/services/services.ts";

/** `watch` keeps a live engine and starts a missing one; `rest` starts a missing engine only on a wake request. */
export type ServiceAction = "watch" | "rest" | "stop" | "remove";

const actions: Record<DesiredServiceState, Record<ServiceState, ServiceAction>> = {
  running: {
    provisioning: "watch",
    starting: "watch",
    awaking: "watch",
    running: "watch",
    degraded: "watch",
    failed: "rest",
    idle: "rest",
    stopping: "watch",
    stopped: "watch",
    terminating: "watch",
  },
  stopped: {
    provisioning: "stop",
    starting: "stop",
    awaking: "stop",
    running: "stop",
    degraded: "stop",
    failed: "stop",
    idle: "stop",
    stopping: "stop",
    stopped: "stop",
    terminating: "stop",
  },
  deleted: {
    provisioning: "remove",
    starting: "remove",
    awaking: "remove",
    running: "remove",
    degraded: "remove",
    failed: "remove",
    idle: "remove",
    stopping: "remove",
    stopped: "remove",
    terminating: "remove",
  },
};

export function serviceAction(desired: DesiredServiceState, state: ServiceState): ServiceAction {
  return actions[desired][state];
}

/** The state shown while a missing engine is being started. */
export function startingState(state: ServiceState): ServiceState {
  if (state === "provisioning" || state === "degraded") return state;
  return state === "idle" || state === "awaking" ? "awaking" : "starting";
}
