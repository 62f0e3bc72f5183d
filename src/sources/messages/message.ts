/** Shared by the connectors of brokers and streams: a message, and its facts besides the payload. */

export type Position = number | string;

/** A message as a view into the received bytes. Connectors may reuse one object for all messages. */
export type SourceMessage = {
  /** The payload is `bytes[start, end)`; `end` below `start` means that there is none (a tombstone). */
  bytes: Buffer;
  start: number;
  end: number;
  /** Unique and increasing within the lane. */
  position: Position;
};

/** A column supplied by the connector and not by the payload, such as `_key`. */
export type VirtualColumn<M extends SourceMessage> =
  | { readonly kind: "text"; read(message: M): Buffer | string }
  | { readonly kind: "texts"; read(message: M): readonly (Buffer | string)[] }
  | { readonly kind: "pairs"; read(message: M): readonly (readonly [Buffer | string, Buffer | string])[] }
  /** Within the safe range of numbers, or a bigint. */
  | { readonly kind: "integer"; read(message: M): number | bigint }
  /** Milliseconds since 1970, UTC. */
  | { readonly kind: "millis"; read(message: M): number };

/** By the name that mappings use. */
export type VirtualColumns<M extends SourceMessage> = Readonly<Record<string, VirtualColumn<M>>>;

export function hasPayload(message: SourceMessage): boolean {
  return message.end > message.start;
}
