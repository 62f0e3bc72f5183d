/** Whether a queue is there and may be read. */
import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { asSourceError, keyProvider } from "./aws.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import { queueAddress } from "./notifications.ts";

/** Throws AppError SOURCE_*. */
export async function checkQueue(config: ObjectStorageConfig, queueUrl: string, signal: AbortSignal): Promise<void> {
  const { endpoint, region } = queueAddress(queueUrl);
  const keys = await keyProvider(config, region)();
  const client = new SQSClient({
    region,
    endpoint,
    maxAttempts: 2,
    ...(keys === undefined ? {} : { credentials: keys }),
  });
  try {
    const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ["QueueArn"] });
    await client.send(command, { abortSignal: signal });
  } catch (error) {
    throw asSourceError(error, "queue", endpoint);
  } finally {
    client.destroy();
  }
}
