/** What the address of the activities says, and the request that follows from it. */

import type { LinkProps } from "@tanstack/react-router";
import type { CallInput, OperationResult } from "../../api/client.ts";
import { pipeAddress, serviceAddress } from "../../lib/addresses.ts";
import { textsOf } from "../../lib/search.ts";

export type Activity = OperationResult<"listActivities">["activities"][number];
type Query = NonNullable<CallInput<"listActivities">["query"]>;

export type ActivitySearch = {
  /** A group of types. */
  readonly group?: string;
  /** One type, which the group does not have to contain. */
  readonly type?: string;
  /** Id of a service, pipe, backup, key ... */
  readonly object?: string;
  /** Id of a key or token, or `system`. */
  readonly actor?: string;
  readonly range?: string;
  /** Older than this page. */
  readonly cursor?: string;
  /** The activity that is open. */
  readonly id?: string;
};

export function activitySearch(search: Record<string, unknown>): ActivitySearch {
  return textsOf(search, "group", "type", "object", "actor", "range", "cursor", "id");
}

export function loginSearch(search: Record<string, unknown>) {
  return textsOf(search, "type");
}

/** Types by what somebody looks for. */
export const groups: readonly { readonly value: string; readonly label: string; readonly types: string }[] = [
  {
    value: "failures",
    label: "Failures",
    types:
      "service_failed,service_degraded,pipe_failed,pipe_degraded,pipe_internal_error,backup_failed,backup_damaged,restore_failed",
  },
  {
    value: "services",
    label: "Services",
    types:
      "service_create,service_update,service_update_autoscaling,service_update_password,service_delete,service_start,service_stop,service_awaken,service_user_create,service_user_delete",
  },
  {
    value: "states",
    label: "Services asleep or awake",
    types: "service_idle,service_awaking,service_running,service_stopped",
  },
  {
    value: "pipes",
    label: "Pipes",
    types:
      "pipe_create,pipe_update,pipe_delete,pipe_start,pipe_stop,pipe_resync,pipe_scaling_update,pipe_settings_update,pipe_errors_discard,pipe_errors_replay",
  },
  {
    value: "backups",
    label: "Backups and restores",
    types:
      "backup_create,backup_verify,backup_done,backup_failed,backup_verified,backup_damaged,backup_delete,backup_configuration_update,backups_rescan,service_restore_backup,restore_done,restore_failed",
  },
  {
    value: "access",
    label: "Keys, tokens, sessions",
    types:
      "key_create,openapi_key_update,key_delete,access_token_create,access_token_update,access_token_delete,console_link_create,session_delete",
  },
];

export const ranges: readonly { readonly value: string; readonly label: string; readonly hours: number }[] = [
  { value: "1h", label: "Last hour", hours: 1 },
  { value: "24h", label: "Last 24 hours", hours: 24 },
  { value: "7d", label: "Last 7 days", hours: 168 },
  { value: "30d", label: "Last 30 days", hours: 720 },
];

const minuteMs = 60_000;

/** `now`, in milliseconds, is taken to the minute, so that the request stays the same for a while. */
export function queryOf(search: ActivitySearch, now: number): Query {
  const { group, type, object, actor, range, cursor } = search;
  const types = type ?? groups.find(({ value }) => value === group)?.types;
  const hours = ranges.find(({ value }) => value === range)?.hours;
  const start = hours === undefined ? undefined : Math.floor(now / minuteMs) * minuteMs - hours * 60 * minuteMs;
  return {
    limit: 100,
    ...(types === undefined ? {} : { type: types }),
    ...(object === undefined ? {} : { object }),
    ...(actor === undefined ? {} : { actor }),
    ...(start === undefined ? {} : { from: new Date(start).toISOString() }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

/** The screen of the object; undefined where there is none, or where the object is gone. */
export function addressOf({ objectType, objectId, serviceId, type }: Activity): LinkProps | undefined {
  if (type.endsWith("_delete")) return undefined;
  if (objectType === "service") return serviceAddress(objectId);
  if (objectType === "key") return { to: "/access" };
  if (serviceId === undefined) return undefined;
  if (objectType === "pipe") return pipeAddress(serviceId, objectId);
  if (objectType === "backup")
    return { to: "/backups/$serviceId/$backupId", params: { serviceId, backupId: objectId } };
  if (objectType === "restore")
    return { to: "/backups/$serviceId/restores/$restoreId", params: { serviceId, restoreId: objectId } };
  return undefined;
}

const bad = /_(failed|damaged|internal_error)$/;
const doubtful = /_(degraded|delete|discard)$/;

/** Failures are red; what takes something away is amber. */
export function toneOf(type: string): "bad" | "warn" | "neutral" {
  if (bad.test(type)) return "bad";
  return doubtful.test(type) ? "warn" : "neutral";
}
