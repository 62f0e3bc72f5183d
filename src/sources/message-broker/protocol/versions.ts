/** The version of each request: the newest that the broker and this client both support (KIP-35). */
import { requireDone, sourceError } from "../failures.ts";
import type { Api, Call, VersionRange } from "./call.ts";
import { kafkaCodes } from "./error-codes.ts";

/** The versions that a broker supports, by request key. */
export type OfferedVersions = ReadonlyMap<number, VersionRange>;

/**
 * The lowest versions are those of Kafka 1.0, except for Fetch (0.11: record batches of format 2) and for the members
 * of groups (2.3: fixed instance ids). The highest ones are those of Kafka 4.1.
 */
export const apis = {
  fetch: { key: 1, name: "Fetch", min: 4, max: 18, flexibleFrom: 12 },
  listOffsets: { key: 2, name: "ListOffsets", min: 2, max: 10, flexibleFrom: 6 },
  metadata: { key: 3, name: "Metadata", min: 4, max: 13, flexibleFrom: 9 },
  offsetCommit: { key: 8, name: "OffsetCommit", min: 2, max: 9, flexibleFrom: 8 },
  // Later versions ask for several groups.
  offsetFetch: { key: 9, name: "OffsetFetch", min: 2, max: 7, flexibleFrom: 6 },
  findCoordinator: { key: 10, name: "FindCoordinator", min: 1, max: 6, flexibleFrom: 3 },
  joinGroup: { key: 11, name: "JoinGroup", min: 5, max: 9, flexibleFrom: 6 },
  heartbeat: { key: 12, name: "Heartbeat", min: 3, max: 4, flexibleFrom: 4 },
  leaveGroup: { key: 13, name: "LeaveGroup", min: 3, max: 5, flexibleFrom: 4 },
  syncGroup: { key: 14, name: "SyncGroup", min: 3, max: 5, flexibleFrom: 4 },
  saslHandshake: { key: 17, name: "SaslHandshake", min: 1, max: 1 },
  apiVersions: { key: 18, name: "ApiVersions", min: 0, max: 3, flexibleFrom: 3 },
  deleteGroups: { key: 42, name: "DeleteGroups", min: 0, max: 2, flexibleFrom: 2 },
  saslAuthenticate: { key: 36, name: "SaslAuthenticate", min: 0, max: 2, flexibleFrom: 2 },
} as const satisfies Record<string, Api>;

export function isFlexible({ flexibleFrom }: Api, version: number): boolean {
  return flexibleFrom !== undefined && version >= flexibleFrom;
}

/** The newest common version, at most `newest`. Throws SOURCE_INVALID when there is none. */
export function commonVersion(api: Api, offered: OfferedVersions, newest = api.max): number {
  const theirs = offered.get(api.key);
  const needed = api.min === newest ? `version ${newest}` : `a version from ${api.min} to ${newest}`;
  if (theirs === undefined) {
    throw sourceError(
      "SOURCE_INVALID",
      "brokers",
      `The broker does not offer the request ${api.name}; ${needed} is needed.`,
    );
  }
  const version = Math.min(theirs.max, newest);
  if (version >= Math.max(theirs.min, api.min)) return version;
  const range = `the versions ${theirs.min} to ${theirs.max}`;
  throw sourceError(
    "SOURCE_INVALID",
    "brokers",
    `The broker offers ${range} of the request ${api.name}; ${needed} is needed.`,
  );
}

/** Undefined when the broker does not support this version of the request itself: it supports version 0. */
export const apiVersions: Call<OfferedVersions | undefined> = {
  api: apis.apiVersions,
  write: (to, version) => {
    if (version >= 3) to.string("millrace").string("1").noTags(); // name and version of the client
  },
  read: (from, version) => {
    const errorCode = from.int16();
    // The rest has the form of version 0.
    if (errorCode === kafkaCodes.UNSUPPORTED_VERSION && version > 0) return undefined;
    requireDone(errorCode, "the versions");
    const ranges = from.array(() => {
      const range = [from.int16(), { min: from.int16(), max: from.int16() }] as const;
      from.tags();
      return range;
    });
    return new Map(ranges);
  },
};
