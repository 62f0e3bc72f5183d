/** What the connectors of brokers and streams share: a message, and what is known about it besides its payload. */

export type Position = number | string;

/** A message as a view into the bytes it came in. Connectors may hand out the same object again and again. */
export type Message = {
  /** The payload is `bytes[start, end)`; `end` below `start` means that there is none (a tombstone). */
  bytes: Buffer;
  start: number;
  end: number;
  /** Unique and growing within the lane. */
  position: Position;
};

/** A column that the connector knows and the payload does not hold, such as `_key`. */
export type VirtualColumn<M extends Message> =
  | { readonly kind: "text"; read(message: M): Buffer | string }
  | { readonly kind: "texts"; read(message: M): readonly (Buffer | string)[] }
  | { readonly kind: "pairs"; read(message: M): readonly (readonly [Buffer | string, Buffer | string])[] }
  /** Within the safe range of numbers, or a bigint. */
  | { readonly kind: "integer"; read(message: M): number | bigint }
  /** Milliseconds since 1970, UTC. */
  | { readonly kind: "millis"; read(message: M): number };

/** By the name that mappings use. */
export type VirtualColumns<M extends Message> = Readonly<Record<string, VirtualColumn<M>>>;

export function hasPayload(message: Message): boolean {
  return message.end > message.start;
}
