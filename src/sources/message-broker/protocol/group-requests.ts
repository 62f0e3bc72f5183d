/** The requests of a member of a consumer group, and the metadata that members exchange. */
import type { Identity } from "../broker-client.ts";
import { requireDone } from "../failures.ts";
import type { Call } from "./call.ts";
import { kafkaCodes } from "./error-codes.ts";
import { apis } from "./versions.ts";
import { KafkaWireReader, KafkaWireWriter } from "./wire.ts";

/** The group type that tools can display. */
const protocolType = "consumer";

export type Joined = {
  readonly generation: number;
  readonly member: string;
  /** All members, for the leader; empty for the others. */
  readonly members: readonly { readonly member: string; readonly metadata: Buffer }[];
  /** The leader has nothing to assign: all assignments stay. */
  readonly stays: boolean;
};

export type JoinRequest = {
  readonly group: string;
  readonly member: string;
  readonly instance: string;
  readonly protocol: string;
  readonly metadata: Buffer;
  readonly sessionMs: number;
};

export function joinGroup({ group, member, instance, protocol, metadata, sessionMs }: JoinRequest): Call<Joined> {
  return {
    api: apis.joinGroup,
    write: (to, version) => {
      to.string(group);
      to.int32(sessionMs).int32(sessionMs); // sessionTimeoutMs, rebalanceTimeoutMs
      to.string(member).string(instance).string(protocolType);
      to.array([protocol], (name) => to.string(name).bytes(metadata).noTags());
      if (version >= 8) to.string(null); // reason
      to.noTags();
    },
    read: (from, version) => {
      from.int32(); // throttleTimeMs
      const errorCode = from.int16();
      const generation = from.int32();
      if (version >= 7) from.nullableString(); // protocolType
      from.nullableString(); // protocolName
      from.string(); // leader
      // Before version 9 the broker sends no members to a leader that has nothing to assign.
      const stays = version >= 9 && from.int8() !== 0;
      const own = from.string();
      const members = from.array(() => {
        const name = from.string();
        from.nullableString(); // groupInstanceId
        const entry = { member: name, metadata: Buffer.from(from.bytes()) };
        from.tags();
        return entry;
      });
      requireDone(errorCode, "joining the group");
      return { generation, member: own, members, stays };
    },
  };
}

/** Completes the join; the leader sends all assignments. */
export function syncGroup(
  group: string,
  protocol: string,
  { generation, member, instance }: Identity,
  assignments: readonly { readonly member: string; readonly content: Buffer }[],
): Call<void> {
  return {
    api: apis.syncGroup,
    write: (to, version) => {
      to.string(group).int32(generation).string(member).string(instance);
      if (version >= 5) to.string(protocolType).string(protocol);
      to.array(assignments, (entry) => to.string(entry.member).bytes(entry.content).noTags()).noTags();
    },
    read: readGroupError,
  };
}

export function heartbeat(group: string, { generation, member, instance }: Identity): Call<void> {
  return {
    api: apis.heartbeat,
    write: (to) => void to.string(group).int32(generation).string(member).string(instance).noTags(),
    read: readGroupError,
  };
}

export function leaveGroup(group: string, { member, instance }: Identity): Call<void> {
  return {
    api: apis.leaveGroup,
    write: (to, version) => {
      to.string(group).array([member], (name) => {
        to.string(name).string(instance);
        if (version >= 5) to.string(null); // reason
        to.noTags();
      });
      to.noTags();
    },
    read: readGroupError,
  };
}

/** Deletes a group without members. One that is not there is deleted already. */
export function deleteGroup(group: string): Call<void> {
  return {
    api: apis.deleteGroups,
    write: (to) => void to.array([group], (name) => to.string(name)).noTags(),
    read: (from) => {
      from.int32(); // throttleTimeMs
      const [errorCode = kafkaCodes.NONE] = from.array(() => {
        from.string();
        const code = from.int16();
        from.tags();
        return code;
      });
      if (errorCode !== kafkaCodes.GROUP_ID_NOT_FOUND) requireDone(errorCode, "deleting the group");
    },
  };
}

function readGroupError(from: KafkaWireReader): void {
  from.int32(); // throttleTimeMs
  requireDone(from.int16(), "the group");
}

/** Version 1 of a consumer's join metadata: its topics, and custom user data. */
export function subscription(topics: readonly string[], words: string): Buffer {
  const to = new KafkaWireWriter().int16(1);
  to.array(topics, (topic) => to.string(topic)).bytes(Buffer.from(words));
  return to.array([], () => {}).content(); // ownedPartitions
}

/** The user data of a member; empty for another format. */
export function wordsOf(metadata: Buffer): string {
  try {
    const from = new KafkaWireReader(metadata);
    from.int16(); // version
    from.array(() => from.string()); // topics
    return from.bytes().toString();
  } catch {
    return "";
  }
}

/** Version 1 of a consumer's assignment. */
export function assignment(topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[]) {
  const to = new KafkaWireWriter().int16(1);
  to.array(topics, ({ topic, partitions }) => {
    to.string(topic).array(partitions, (partition) => to.int32(partition));
  });
  return to.bytes(Buffer.alloc(0)).content(); // userData
}
