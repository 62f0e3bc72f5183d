/** Deletes activities that are older than the setting, once an hour. */
import type { Logger } from "../../lib/logger.ts";
import { Loop } from "../../lib/loop.ts";
import type { ActivityStore } from "./activities.ts";

const everyMs = 3_600_000;
/** Each organization keeps as many, so that a flood in one of them takes nothing from the others. */
const most = 100_000;

export function activityRetention(activities: ActivityStore, days: number, logger: Logger): Loop {
  const body = () => activities.trim(new Date(Date.now() - days * 86_400_000).toISOString(), most);
  return new Loop({ name: "activities", everyMs, logger, body });
}
