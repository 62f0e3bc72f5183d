/** The streams of an account in a region, through the AWS client. */
import { DescribeStreamSummaryCommand, KinesisClient, ListStreamsCommand } from "@aws-sdk/client-kinesis";
import { withinTime } from "../../../lib/within-time.ts";
import type { Listed, ListingPage, SourceListing } from "../../contract/listing.ts";
import type { NetworkContext } from "../../contract/source.ts";
import type { ManagedStreamConfig } from "../declaration/kind.ts";
import { addressOf, connection, requestHandlerOf } from "./client.ts";
import { accountError } from "./errors.ts";

/** The service answers 20 summaries of streams per second and account. */
const summaries = { ms: 4_000, concurrency: 4 };

/** Streams in the order of their names; the cursor is the name of the last one. */
export async function listStreams(
  config: ManagedStreamConfig,
  network: NetworkContext,
  { cursor, limit }: ListingPage,
  signal: AbortSignal,
): Promise<SourceListing> {
  const client = new KinesisClient({ ...connection(config, network), requestHandler: requestHandlerOf(network) });
  try {
    const command = new ListStreamsCommand({ Limit: limit, ...(cursor ? { ExclusiveStartStreamName: cursor } : {}) });
    const { StreamNames: names = [], HasMoreStreams } = await client.send(command, { abortSignal: signal });
    const shards = await withinTime(names, summaries, (name) => openShards(client, name, signal));
    const streams = names.map((name, at): Listed<"streams"> => {
      const count = shards[at];
      return { name, ...(count === undefined ? {} : { openShards: count }) };
    });
    const last = names.at(-1);
    return { streams, ...(HasMoreStreams === true && last !== undefined ? { nextCursor: last } : {}) };
  } catch (error) {
    signal.throwIfAborted();
    throw accountError(error, addressOf(config));
  } finally {
    client.destroy();
  }
}

/** Undefined where it may not be asked, or not so often: the name alone is worth listing. */
async function openShards(client: KinesisClient, name: string, signal: AbortSignal): Promise<number | undefined> {
  const command = new DescribeStreamSummaryCommand({ StreamName: name });
  const answer = await client.send(command, { abortSignal: signal }).catch(() => undefined);
  return answer?.StreamDescriptionSummary?.OpenShardCount;
}
