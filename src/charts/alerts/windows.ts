/** Windows of alerts. */
import { type AlertDefinition, intervalMsOf } from "../../api/alerts.ts";
import type { AlertWindow } from "./alert-request.ts";

type Schedule = Pick<AlertDefinition, "interval" | "scheduleOffsetMinutes" | "scheduleStartAt">;

/**
 * The last window that has ended, undefined before the first one. Windows follow one another without gaps; they begin
 * at multiples of the interval since 1970, shifted by the offset or so that one begins at the start.
 */
export function lastWindow(schedule: Schedule, nowMs: number): AlertWindow | undefined {
  const { interval, scheduleOffsetMinutes = 0, scheduleStartAt } = schedule;
  const sizeMs = intervalMsOf(interval);
  const startAtMs = scheduleStartAt === undefined ? undefined : Date.parse(scheduleStartAt);
  const anchorMs = startAtMs ?? scheduleOffsetMinutes * 60_000;
  const endMs = Math.floor((nowMs - anchorMs) / sizeMs) * sizeMs + anchorMs;
  const startMs = endMs - sizeMs;
  return startAtMs !== undefined && startMs < startAtMs ? undefined : { startMs, endMs };
}
