/** The environment of a Kafka test: brokers, a producer, the product, and a running service. */

import { type BenchService, runningService, type Served, serve } from "../serve.ts";
import { startKafka, type TestKafka } from "./kafka.ts";
import { KafkaTool } from "./pipes.ts";

export type KafkaStage = AsyncDisposable & {
  readonly kafka: TestKafka;
  readonly tool: KafkaTool;
  readonly served: Served;
  readonly service: BenchService;
};

export type StageOptions = {
  readonly kafka?: Parameters<typeof startKafka>[0];
  readonly env?: Record<string, string>;
  /** Members of the request that creates the service. */
  readonly service?: object;
};

export async function kafkaStage(options: StageOptions = {}): Promise<KafkaStage> {
  await using started = new AsyncDisposableStack();
  const starting = await Promise.allSettled([startKafka(options.kafka), serve({ env: options.env ?? {} })]);
  for (const one of starting) if (one.status === "fulfilled") started.use(one.value);
  const [kafka, served] = starting.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  }) as [TestKafka, Served];
  const tool = started.use(new KafkaTool(kafka));
  const service = await runningService(served, options.service ?? { idleScaling: false });
  const kept = started.move();
  return { kafka, tool, served, service, [Symbol.asyncDispose]: async () => await kept.disposeAsync() };
}
