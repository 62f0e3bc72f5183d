/**
 * Which history a position of the log belongs to. A promoted standby continues on a timeline of its own from the
 * position up to which it had received the log. What the old primary wrote after that position is not part of it.
 */
import type pg from "pg";
import type { TimelineHistory } from "../declaration/durable.ts";
import { parseLsn } from "../protocol/lsn.ts";

/** Asks on a connection for replication: those commands need no right of their own. */
export async function readTimelineHistory(client: pg.Client): Promise<TimelineHistory> {
  const { rows } = await client.query<{ systemid: string; timeline: string }>("IDENTIFY_SYSTEM");
  const { systemid: system, timeline } = rows[0] as { systemid: string; timeline: string };
  const id = Number(timeline);
  if (id === 1) return { system, timelines: [{ id }] };
  // Servers call the text bytea, and do not write it as one.
  const history = await client.query<{ content: string | Buffer }>(`TIMELINE_HISTORY ${id}`);
  return { system, timelines: [...parseTimelineHistory(String(history.rows[0]?.content ?? "")), { id }] };
}

/** Lines of a history file: number, position of the end, reason. */
export function parseTimelineHistory(history: string): { id: number; end: string }[] {
  return history.split("\n").flatMap((line) => {
    const [, id, end] = /^\s*(\d+)\s+([0-9A-Fa-f]+\/[0-9A-Fa-f]+)/.exec(line) ?? [];
    return id === undefined || end === undefined ? [] : [{ id: Number(id), end }];
  });
}

/** The position at which two histories diverge; undefined when they are the same. */
export function divergencePoint(one: TimelineHistory, other: TimelineHistory): bigint | undefined {
  if (one.system !== other.system) return 0n;
  let common = 0n;
  for (const [index, left] of one.timelines.entries()) {
    const right = other.timelines[index];
    if (right?.id !== left.id) return common;
    if (left.end !== right.end) return least(left.end, right.end);
    if (left.end !== undefined) common = parseLsn(left.end);
  }
  return undefined;
}

function least(...ends: readonly (string | undefined)[]): bigint {
  const known = ends.filter((end) => end !== undefined).map(parseLsn);
  const [first = 0n] = known.toSorted((one, other) => (one < other ? -1 : 1));
  return first;
}

/** The words for sentences: `timeline 2`. */
export function timelineText({ timelines }: TimelineHistory): string {
  return `timeline ${timelines.at(-1)?.id}`;
}
