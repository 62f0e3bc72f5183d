/** The Kafka error codes that decisions or messages depend on, with the protocol's names. */

export const kafkaCodes = {
  NONE: 0,
  OFFSET_OUT_OF_RANGE: 1,
  CORRUPT_MESSAGE: 2,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  LEADER_NOT_AVAILABLE: 5,
  NOT_LEADER_OR_FOLLOWER: 6,
  REPLICA_NOT_AVAILABLE: 9,
  COORDINATOR_LOAD_IN_PROGRESS: 14,
  COORDINATOR_NOT_AVAILABLE: 15,
  NOT_COORDINATOR: 16,
  ILLEGAL_GENERATION: 22,
  INCONSISTENT_GROUP_PROTOCOL: 23,
  UNKNOWN_MEMBER_ID: 25,
  REBALANCE_IN_PROGRESS: 27,
  TOPIC_AUTHORIZATION_FAILED: 29,
  GROUP_AUTHORIZATION_FAILED: 30,
  CLUSTER_AUTHORIZATION_FAILED: 31,
  UNSUPPORTED_SASL_MECHANISM: 33,
  UNSUPPORTED_VERSION: 35,
  KAFKA_STORAGE_ERROR: 56,
  NON_EMPTY_GROUP: 68,
  GROUP_ID_NOT_FOUND: 69,
  LISTENER_NOT_FOUND: 72,
  FENCED_LEADER_EPOCH: 74,
  UNKNOWN_LEADER_EPOCH: 75,
  UNSUPPORTED_COMPRESSION_TYPE: 76,
  OFFSET_NOT_AVAILABLE: 78,
  FENCED_INSTANCE_ID: 82,
  UNKNOWN_TOPIC_ID: 100,
  INCONSISTENT_TOPIC_ID: 103,
} as const;

const names = new Map(Object.entries(kafkaCodes).map(([name, code]) => [code as number, name]));

/** The name of a code, or its number when it is not listed here. */
export function nameOf(code: number): string {
  return names.get(code) ?? `${code}`;
}

/** Errors that disappear when the cluster has settled: a new leader, a restart. */
const passing: ReadonlySet<number> = new Set([
  kafkaCodes.UNKNOWN_TOPIC_OR_PARTITION,
  kafkaCodes.LEADER_NOT_AVAILABLE,
  kafkaCodes.NOT_LEADER_OR_FOLLOWER,
  kafkaCodes.REPLICA_NOT_AVAILABLE,
  kafkaCodes.COORDINATOR_LOAD_IN_PROGRESS,
  kafkaCodes.COORDINATOR_NOT_AVAILABLE,
  kafkaCodes.NOT_COORDINATOR,
  kafkaCodes.KAFKA_STORAGE_ERROR,
  kafkaCodes.LISTENER_NOT_FOUND,
  kafkaCodes.FENCED_LEADER_EPOCH,
  kafkaCodes.UNKNOWN_LEADER_EPOCH,
  kafkaCodes.OFFSET_NOT_AVAILABLE,
  kafkaCodes.UNKNOWN_TOPIC_ID,
  kafkaCodes.INCONSISTENT_TOPIC_ID,
]);

export function isPassing(code: number): boolean {
  return passing.has(code);
}
