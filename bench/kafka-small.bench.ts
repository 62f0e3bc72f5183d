/** JSON messages of 200 bytes. */
import { throughput } from "./kafka.ts";

export const description =
  "rows/s of a Kafka pipe, 200 B JSON: against the engine's Kafka engine, and against the least work";

export const run = () => throughput(200, 5_000_000, 4);
