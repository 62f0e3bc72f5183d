/** A real engine for suites about message batches: inserts a batch as the runner does, and replaces refused ones. */
import { ClickHouseClient, ClickHouseError } from "../../src/clickhouse/client.ts";
import { AppError } from "../../src/lib/errors.ts";
import type { Query } from "../../src/sources/contract/source.ts";
import { findBadMessages } from "../../src/sources/messages/bad-rows.ts";
import type { RowEncoder } from "../../src/sources/messages/formats/encoder.ts";
import type { Position, SourceMessage } from "../../src/sources/messages/message.ts";
import { MessageBatch } from "../../src/sources/messages/message-batch.ts";
import { Stage } from "./stage.ts";

export type TestMessage = SourceMessage & { readonly key: string; readonly timestamp: number };

export function message(position: number, payload: Buffer | string | null): TestMessage {
  const bytes = payload === null ? Buffer.alloc(0) : Buffer.from(payload);
  return {
    bytes,
    start: 0,
    end: payload === null ? -1 : bytes.length,
    position,
    key: `k${position}`,
    timestamp: 1.5e12,
  };
}

export class MessageEngine implements AsyncDisposable {
  readonly #stage: Stage;
  readonly client: ClickHouseClient;
  questions = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.client = new ClickHouseClient(stage.host.address);
  }

  static async open(): Promise<MessageEngine> {
    return new MessageEngine(await Stage.open());
  }

  readonly query: Query = async (sql, options = {}) => {
    this.questions += 1;
    return await this.client.rows(sql, options);
  };

  /** As in the checks of a new pipe: an error of the engine is an error about the source. */
  readonly checkQuery: Query = async (sql, options) => {
    return await this.query(sql, options).catch((error: Error) => {
      throw new AppError("SOURCE_INVALID", error.message);
    });
  };

  /** Inserts the messages; bad ones are skipped. Returns the reasons by position and the number of attempts. */
  async load(encoder: RowEncoder<TestMessage>, messages: readonly TestMessage[], token: string) {
    const refused = new Map<Position, string>();
    for (let attempt = 1; ; attempt += 1) {
      const batch = new MessageBatch({ encoder, origin: "t/0", maxMessageBytes: 1e6, refused });
      for (const one of messages) {
        await encoder.prepare(one);
        batch.add(one);
      }
      for (const [index, { sql, settings, body }] of batch.inserts().entries()) {
        try {
          const given = { ...settings, insert_deduplication_token: `${token}:${index}` };
          await this.client.command(sql, { settings: given, body: body?.() as Buffer });
        } catch (error) {
          if (!(error instanceof ClickHouseError)) throw error;
          const failure = { kind: "data" as const, code: error.code, insert: index, message: error.message };
          const found = await findBadMessages(batch, encoder.plan, failure, attempt > 1, this.query);
          if (found.size === 0) throw error;
          for (const [position, reason] of found) refused.set(position, reason);
          break;
        }
        if (index === batch.groups.length - 1) return { rejected: batch.rejected, attempts: attempt };
      }
      if (batch.inserts().length === 0) return { rejected: batch.rejected, attempts: attempt };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.#stage.close();
  }
}
