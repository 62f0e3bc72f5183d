/** Activities of an organization. */
import { type activityOperations, activityRecord } from "../../../api/activities.ts";
import { found } from "../../../lib/errors.ts";
import type { ActivityRecord } from "../../../store/access/activities.ts";
import type { Stores } from "../../../store/open.ts";
import { refusedQuery } from "../../request/validate.ts";
import { viewOf } from "../../views/view-of.ts";
import type { Management } from "../lookups.ts";

export function activityHandlers({
  activities,
}: Pick<Stores, "activities">): Management<keyof typeof activityOperations> {
  return {
    listActivities: async ({ params, query }) => {
      const { object, actor } = query;
      const filter = { types: query.type?.split(","), object, actor, from: utc(query.from), to: utc(query.to) };
      // One more than requested shows whether there are older ones.
      const rows = await activities.list(params.organizationId, filter, query.limit + 1, readCursor(query.cursor));
      const page = rows.slice(0, query.limit);
      const last = page.at(-1);
      const nextCursor = rows.length > page.length && last !== undefined ? writeCursor(last.id) : undefined;
      return { activities: page.map(activityOf), ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
    getActivity: async ({ params: { organizationId, activityId } }) =>
      activityOf(found(await activities.find(organizationId, activityId), "Activity", activityId)),
  };
}

const activityMembers = viewOf(activityRecord);

function activityOf(row: ActivityRecord) {
  const { actorId, actorName: actorDetails, actorAddress: actorIpAddress } = row;
  return activityMembers({ ...row, actorType: actorId === null ? "system" : "api", actorDetails, actorIpAddress });
}

/** As stored, whatever offset was sent. */
function utc(time: string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

function writeCursor(id: string): string {
  return Buffer.from(id).toString("base64url");
}

function readCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const id = Buffer.from(cursor, "base64url").toString("utf8");
  if (/^\d{1,15}$/.test(id)) return id;
  throw refusedQuery("cursor", "is not a cursor of this list");
}
