/** The requests of a member of a consumer group (Apache Kafka 3.2 and later), and what members tell each other. */
import type { Identity } from "../broker-client.ts";
import { requireDone } from "../failures.ts";
import type { Call } from "./wire.ts";
import { WireReader, WireWriter } from "./wire.ts";

/** The kind of group whose members tools know how to show. */
const protocolType = "consumer";

export type Joined = {
  readonly generation: number;
  readonly member: string;
  /** Of all, for the leader; empty for the others. */
  readonly members: readonly { readonly member: string; readonly metadata: Buffer }[];
  /** The leader has nothing to hand out: everything stays as it is. */
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
    key: 11,
    version: 9,
    write: (to) =>
      void to
        .string(group)
        .int32(sessionMs)
        .int32(sessionMs)
        .string(member)
        .string(instance)
        .string(protocolType)
        .array([protocol], (name) => to.string(name).bytes(metadata).noTags())
        .string(null)
        .noTags(),
    read: (from) => {
      from.int32();
      const errorCode = from.int16();
      const generation = from.int32();
      from.nullableString();
      from.nullableString();
      from.string();
      const stays = from.int8() !== 0;
      const own = from.string();
      const members = from.array(() => {
        const name = from.string();
        from.nullableString();
        const entry = { member: name, metadata: Buffer.from(from.bytes()) };
        from.tags();
        return entry;
      });
      requireDone(errorCode, "joining the group");
      return { generation, member: own, members, stays };
    },
  };
}

/** Takes up the place in the group; the leader tells what everybody has. */
export function syncGroup(
  group: string,
  protocol: string,
  { generation, member, instance }: Identity,
  assignments: readonly { readonly member: string; readonly content: Buffer }[],
): Call<void> {
  return {
    key: 14,
    version: 5,
    write: (to) =>
      void to
        .string(group)
        .int32(generation)
        .string(member)
        .string(instance)
        .string(protocolType)
        .string(protocol)
        .array(assignments, (entry) => to.string(entry.member).bytes(entry.content).noTags())
        .noTags(),
    read: (from) => {
      from.int32();
      requireDone(from.int16(), "the group");
    },
  };
}

export function heartbeat(group: string, { generation, member, instance }: Identity): Call<void> {
  return {
    key: 12,
    version: 4,
    write: (to) => void to.string(group).int32(generation).string(member).string(instance).noTags(),
    read: (from) => {
      from.int32();
      requireDone(from.int16(), "the group");
    },
  };
}

export function leaveGroup(group: string, { member, instance }: Identity): Call<void> {
  return {
    key: 13,
    version: 4,
    write: (to) =>
      void to
        .string(group)
        .array([member], (name) => to.string(name).string(instance).noTags())
        .noTags(),
    read: (from) => {
      from.int32();
      requireDone(from.int16(), "the group");
    },
  };
}

/** Version 1 of what consumers say when they join: their topics, and words of their own. */
export function subscription(topics: readonly string[], words: string): Buffer {
  const to = new WireWriter().int16(1);
  to.oldArray(topics, (topic) => to.oldString(topic)).oldBytes(Buffer.from(words));
  return to.oldArray([], () => {}).content();
}

/** The words of a member; empty for one that says it in another way. */
export function wordsOf(metadata: Buffer): string {
  try {
    const from = new WireReader(metadata);
    from.int16();
    from.oldArray(() => from.oldString());
    return from.oldBytes().toString();
  } catch {
    return "";
  }
}

/** Version 1 of what a consumer is told to read. */
export function assignment(topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[]) {
  const to = new WireWriter().int16(1);
  to.oldArray(topics, ({ topic, partitions }) => {
    to.oldString(topic).oldArray(partitions, (partition) => to.int32(partition));
  });
  return to.oldBytes(Buffer.alloc(0)).content();
}
