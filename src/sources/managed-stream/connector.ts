/** The Kinesis connector: checks a configuration, opens a source, and deletes the pipe's consumer with the pipe. */
import { AppError, memberError } from "../../lib/errors.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import { defineConnector } from "../contract/define-connector.ts";
import { requireTable } from "../contract/destination.ts";
import type {
  CheckOptions,
  CleanUpOptions,
  DiscoverOptions,
  ListOptions,
  NetworkContext,
  RowReplayContext,
  SourceContext,
} from "../contract/source.ts";
import { type KeptMessage, keptColumns } from "../messages/facts.ts";
import { messageFormatOf } from "../messages/formats/rows.ts";
import { batchLimits } from "../messages/limits.ts";
import { MessageReplay } from "../messages/message-replay.ts";
import { planRows, type RowPlan } from "../messages/plan.ts";
import { checkSamples, discoverSamples } from "../messages/samples.ts";
import { KinesisStream } from "./client/client.ts";
import type { KinesisDurable } from "./declaration/durable.ts";
import type { ManagedStreamConfig } from "./declaration/kind.ts";
import { withThrottleRetries } from "./reading/polling.ts";
import { startType } from "./reading/start.ts";
import { kinesisVirtualColumns, messagesOf, type StreamMessage, unpackedOnly } from "./records/message.ts";
import { StreamSource } from "./source.ts";
import { type ShardFacts, type StreamApi, StreamError } from "./stream.ts";

const sampleMessages = 100;
/** Maximum number of calls for samples: streams with many empty shards are not searched completely. */
const sampleCalls = 20;

export const managedStreamConnector = defineConnector<ManagedStreamConfig>({
  async check(config: ManagedStreamConfig, options: CheckOptions, signal: AbortSignal): Promise<void> {
    const destination = requireTable(options.destination);
    const { network, run } = options;
    const registry = await run.check("mapping", async () => {
      const rows = await messageFormatOf<StreamMessage>(config, registryDialer(network));
      planRows(destination, rows.format, kinesisVirtualColumns(config.streamName));
      return rows.registry;
    });
    await withStream(config, network, async (api) => {
      const { shards } = await run.reach("stream", async () => {
        const listed = await asked(() => api.shards(signal), signal);
        requirePast(config, listed.serverMs);
        return listed;
      });
      if (registry !== undefined) await run.check("schemaRegistry", () => registry.check());
      if (!options.validateSamples) return;
      await run.check("samples", async () => {
        await checkSamples(await samplesOf(config, network, api, shards, signal), destination, options.query);
      });
    });
  },

  async discover(config: ManagedStreamConfig, { network, query }: DiscoverOptions, signal: AbortSignal) {
    return await withStream(config, network, async (api) => {
      const { shards } = await asked(() => api.shards(signal), signal);
      return await discoverSamples(await samplesOf(config, network, api, shards, signal), query);
    });
  },

  async list(config: ManagedStreamConfig, { network, page }: ListOptions, signal: AbortSignal) {
    const { listStreams } = await import("./client/account.ts");
    return await listStreams(config, network, page, signal);
  },

  async open(config: ManagedStreamConfig, context: SourceContext<KinesisDurable>) {
    const { network } = context;
    const rows = await messageFormatOf<StreamMessage>(config, registryDialer(network));
    const plan = planRows(
      requireTable(context.destination.target),
      rows.format,
      kinesisVirtualColumns(config.streamName),
      context.settings.database_lenient_values === true,
    );
    return new StreamSource({
      config,
      context,
      api: new KinesisStream(config, network),
      fanOut: config.useEnhancedFanOut === true ? await openFanOut(config, network) : undefined,
      encoder: unpackedOnly(rows.encoder(plan)),
      limits: batchLimits(context.memoryGb, Number(context.settings.streaming_max_insert_wait_ms)),
    });
  },

  async rowReplay(config: ManagedStreamConfig, context: RowReplayContext) {
    const rows = await messageFormatOf<KeptMessage>(config, registryDialer(context.network));
    return new MessageReplay(rows, keptColumns(kinesisVirtualColumns(config.streamName)), context);
  },

  async cleanUp(config: ManagedStreamConfig, { network, object }: CleanUpOptions, signal: AbortSignal): Promise<void> {
    const fanOut = await openFanOut(config, network);
    try {
      await fanOut.deregister(object.name, signal);
    } finally {
      fanOut.close();
    }
  },
});

/** The stream refuses such an iterator, and milliseconds are a time in the far future. */
function requirePast(config: ManagedStreamConfig, serverMs: number): void {
  if (startType(config) !== "AT_TIMESTAMP" || Number(config.timestamp) * 1000 <= serverMs) return;
  const now = Math.floor(serverMs / 1000);
  const message = `must not be in the future: it is a number of seconds, and the stream's clock is at ${now}`;
  throw memberError("SOURCE_INVALID", "source.managedStream.timestamp", message);
}

function registryDialer(network: NetworkContext): Dialer {
  return new Dialer(network.policy, "source.managedStream.schemaRegistry.url");
}

async function openFanOut(config: ManagedStreamConfig, network: NetworkContext) {
  const { FanOutClient } = await import("./client/fan-out-client.ts");
  return new FanOutClient(config, network);
}

async function withStream<T>(
  config: ManagedStreamConfig,
  network: NetworkContext,
  work: (api: StreamApi) => Promise<T>,
): Promise<T> {
  const api = new KinesisStream(config, network);
  try {
    return await work(api);
  } finally {
    api.close();
  }
}

async function asked<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const answer = await withThrottleRetries(work, signal).catch((error: unknown) => {
    if (!(error instanceof StreamError)) throw error;
    throw new AppError("SOURCE_UNREACHABLE", "The stream changed while it was looked at; try again.", { cause: error });
  });
  signal.throwIfAborted();
  return answer as T;
}

/** The oldest messages of some shards. */
async function samplesOf(
  config: ManagedStreamConfig,
  network: NetworkContext,
  api: StreamApi,
  shards: readonly ShardFacts[],
  signal: AbortSignal,
) {
  const messages: StreamMessage[] = [];
  let calls = 0;
  for (const { id } of shards) {
    let iterator: string | undefined = await asked(() => api.iterator(id, { from: "horizon" }, signal), signal);
    // A response may be empty although the shard has records further on.
    while (iterator !== undefined && calls < sampleCalls && messages.length < sampleMessages) {
      const at: string = iterator;
      calls += 1;
      const page = await asked(() => api.records(at, sampleMessages, signal), signal);
      for (const record of page.records) messages.push(...messagesOf(id, record, config.compression ?? "none"));
      iterator = page.behindMs > 0 ? page.next : undefined;
    }
  }
  const rows = await messageFormatOf<StreamMessage>(config, registryDialer(network));
  return {
    format: rows.format,
    virtualColumns: kinesisVirtualColumns(config.streamName),
    encoder: (plan: RowPlan<StreamMessage>) => unpackedOnly(rows.encoder(plan)),
    messages: messages.slice(0, sampleMessages),
    origin: `stream ${config.streamName}`,
  };
}
