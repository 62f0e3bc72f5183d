/** Counts what topics contain, with Kafka's own consumer: none of our code determines what a test expects. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { jars, type TestKafka } from "./kafka.ts";

export type TopicAudit = {
  /** Committed messages that match the pattern, and the sum of the pattern's first group. */
  readonly good: number;
  readonly sum: number;
  readonly bad: number;
  readonly tombstones: number;
};

export async function auditTopics(
  kafka: Pick<TestKafka, "brokers">,
  topics: readonly string[],
  good: RegExp,
): Promise<TopicAudit> {
  const program = fileURLToPath(new URL("./KafkaTopicAudit.java", import.meta.url));
  const args = ["-cp", `${jars}/*`, program, kafka.brokers, topics.join(","), good.source];
  const { stdout } = await promisify(execFile)("java", args, { timeout: 120_000 });
  return JSON.parse(stdout) as TopicAudit;
}
