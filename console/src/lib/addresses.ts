/**
 * Addresses of screens that several features link to; a feature imports nothing of another one. Each is what a link of
 * the router takes: the path of a route with its parameters, whose names and values the compiler checks.
 */
import type { StateMetric } from "../../../src/api/alerts.ts";

/** The page of a service. */
export function serviceAddress(serviceId: string) {
  return { to: "/services/$serviceId", params: { serviceId } } as const;
}

/** The settings of a service. */
export function serviceSettingsAddress(serviceId: string) {
  return { to: "/services/$serviceId/settings", params: { serviceId } } as const;
}

/** A new alert of a chart. */
export function newAlertAddress<Chart>(title: string | undefined, chart: Chart) {
  return { to: "/alerts/new", search: { ...(title === undefined ? {} : { title }), chart } } as const;
}

/** A new alert of states, of all pipes or services or of the one that `limit` names as `pipe:ID` or `service:ID`. */
export function newStateAlertAddress(metric: StateMetric, limit?: string, title?: string) {
  return { to: "/alerts/new", search: { metric, ...(limit && { limit }), ...(title && { title }) } } as const;
}

/** The page of a pipe. */
export function pipeAddress(serviceId: string, pipeId: string) {
  return { to: "/pipes/$serviceId/$pipeId", params: { serviceId, pipeId } } as const;
}

/** What a pipe refused. */
export function pipeErrorsAddress(serviceId: string, pipeId: string) {
  return { to: "/pipes/$serviceId/$pipeId/errors", params: { serviceId, pipeId } } as const;
}
