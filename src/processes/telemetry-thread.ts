/** The thread that reads large bodies of OpenTelemetry. */
import { answerTasks, ownMemory } from "../lib/threads.ts";
import { type ReadTelemetry, readTelemetry, type TelemetryTask } from "../sources/push/otlp/reader.ts";

answerTasks<TelemetryTask, ReadTelemetry>((task) => {
  const read = readTelemetry(task);
  return [read, ownMemory(read.body)];
});
