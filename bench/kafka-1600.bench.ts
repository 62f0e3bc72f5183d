/** JSON messages of 1.6 KB. */
import { throughput } from "./kafka.ts";

export const description =
  "MB/s of a Kafka pipe, 1.6 KB JSON: against the engine's Kafka engine (ratio >= 3), >= 100 MB/s";

export const run = () => throughput(1_600, 1_200_000, 2);
