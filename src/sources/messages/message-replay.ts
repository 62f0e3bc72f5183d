/** Makes the rows of rejected messages again, for the connectors of brokers and streams. */
import { requireTable } from "../contract/destination.ts";
import type { KeptRow, RefusedReplays, ReplayInserts, RowReplay, RowReplayContext } from "../contract/source.ts";
import type { KeptMessage } from "./facts.ts";
import type { RowEncoder } from "./formats/encoder.ts";
import type { MessageFormat } from "./formats/rows.ts";
import type { VirtualColumns } from "./message.ts";
import { MessageBatch } from "./message-batch.ts";
import { planRows } from "./plan.ts";
import { decideRefusal } from "./refusals.ts";

export class MessageReplay implements RowReplay {
  readonly #encoder: RowEncoder<KeptMessage>;
  readonly #context: RowReplayContext;

  constructor(
    rows: MessageFormat<KeptMessage>,
    /** `keptColumns` of those of the kind. */
    columns: VirtualColumns<KeptMessage>,
    context: RowReplayContext,
  ) {
    this.#encoder = rows.encoder(planRows(requireTable(context.target), rows.format, columns));
    this.#context = context;
  }

  async make(rows: readonly KeptRow[], refused: RefusedReplays): Promise<ReplayInserts> {
    const encoder = this.#encoder;
    // The limit of the pipe held for what it reads; these rows are in memory already.
    const batch = new MessageBatch({ encoder, origin: "", maxMessageBytes: Number.MAX_SAFE_INTEGER, refused });
    for (const { id, bytes, facts } of rows) {
      const message: KeptMessage = { bytes, start: 0, end: bytes.length, position: id, facts };
      await encoder.prepare(message);
      batch.add(message);
    }
    return {
      inserts: batch.inserts(),
      refused: new Map(batch.rejected.map(({ position, message }) => [String(position), message])),
      decide: async (failure) => {
        const answer = await decideRefusal(batch, encoder.plan, refused, failure, this.#context.query);
        if (answer.kind === "halves") return { kind: "halves", lastOfFirst: String(answer.lastOfFirst) };
        if (answer.kind === "stop") return answer;
        return { kind: "without", refused: new Map([...answer.refused].map(([id, reason]) => [String(id), reason])) };
      },
    };
  }
}
