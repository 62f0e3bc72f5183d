/** Settings of a native query: those that a client may send, and those that belong to the front. */
import { clickHouseException } from "../../clickhouse/exception.ts";
import type { WireSetting } from "../../endpoint/native/hello.ts";
import type { NativeSession } from "../../endpoint/native/session.ts";
import { expressionSettings, waitForDrop } from "../http/query-service.ts";
import { settingNames } from "../sql/lists/lists.ts";
import { type ClientQuery, customFlag } from "./query-packet.ts";

/**
 * Settings of the connection to the engine, which is the front's. Clients mean their own connection with them, so they
 * are left out without an error.
 */
const ofTheConnection: ReadonlySet<string> = new Set([
  "idle_connection_timeout",
  "poll_interval",
  "receive_timeout",
  "send_timeout",
  "interactive_delay",
  "unknown_packet_in_send_data",
  "send_logs_source_regexp",
  ...expressionSettings,
]);
const quietLevels: ReadonlySet<string> = new Set(["none", "fatal", "critical", "error", "warning"]);
const importantFlag = 1;

/** The query with what its session holds, as it is judged and passed on. Throws UNKNOWN_SETTING as a server does. */
export function withSession({ settings, parameters }: NativeSession, query: ClientQuery): ClientQuery {
  const held = settings.map(([name, value]) => ({ name, flags: 0, value }));
  return {
    ...query,
    settings: passedSettings([...held, ...query.settings], query.isPart),
    parameters: [...new Map([...parameters, ...query.parameters])],
  };
}

/**
 * What of the settings is judged and passed on. Throws UNKNOWN_SETTING as a server does. Those of another server
 * (`isPart`) are its defaults: what is not available here is left out.
 */
export function passedSettings(settings: readonly WireSetting[], isPart = false): WireSetting[] {
  const passed = new Map<string, WireSetting>();
  for (const setting of settings) {
    const { name, flags, value } = setting;
    if (isPart && (!settingNames.allowed.has(name) || settingNames.bounded.has(name))) continue;
    if ((flags & customFlag) !== 0) unknown(name, "custom settings are not available");
    if (ofTheConnection.has(name) || name.startsWith("sleep_")) continue;
    // Log lines of the engine below warnings tell of more than the query.
    if (name === "send_logs_level") passed.set(name, { ...setting, value: quietLevels.has(value) ? value : "warning" });
    else if (isKnown(name)) passed.set(name, setting);
    // A newer client sends settings that a server of this version leaves out too, unless they change results.
    else if ((flags & importantFlag) !== 0) unknown(name, "this version does not have it");
  }
  return [...passed.values()];
}

export type OwnSettings = {
  readonly valuesMayCompute: boolean;
  readonly diskIsFull: boolean;
  /** True when the engine closes the connection after the answer. */
  readonly once: boolean;
  /** True of a client that does not know every type of today. */
  readonly isOld: boolean;
};

/** Settings that the front adds to a sealed query. */
export function ownSettings({ valuesMayCompute, diskIsFull, once, isOld }: OwnSettings): WireSetting[] {
  const own: [string, string][] = [
    // Lifts the lock of the user `default`.
    ["sleep_after_receiving_query_ms", "0"],
    ...(valuesMayCompute ? expressionSettings.map((name): [string, string] => [name, "1"]) : []),
    ...(diskIsFull ? [[waitForDrop, "1"] as [string, string]] : []),
    ...(once ? [["idle_connection_timeout", "0"] as [string, string]] : []),
    ...(isOld ? [["low_cardinality_allow_in_native_format", "0"] as [string, string]] : []),
  ];
  return own.map(([name, value]) => ({ name, flags: importantFlag, value }));
}

function isKnown(name: string): boolean {
  if (settingNames.allowed.has(name) || settingNames.judged.has(name) || settingNames.refused.has(name)) return true;
  return [...settingNames.refused].some((entry) => entry.startsWith(`${name}=`));
}

function unknown(name: string, why: string): never {
  throw clickHouseException("UNKNOWN_SETTING", `Unknown setting '${name}': ${why}.`);
}
