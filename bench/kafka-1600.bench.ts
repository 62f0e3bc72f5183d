/** JSON messages of 1.6 KB. */
import { throughput } from "./kafka.ts";

export const description =
  "a Kafka pipe with 1.6 KB JSON: against the engine's Kafka engine, and against the least work";

export const run = () => throughput(1_600, 1_200_000, 2);
