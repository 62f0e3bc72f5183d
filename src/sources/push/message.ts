/** A row of an inbox as a message, and its columns besides the payload. */
import type { SourceMessage, VirtualColumns } from "../messages/message.ts";

export type PushMessage = SourceMessage & {
  position: number;
  /** When the request was received, in ms since 1970. */
  readonly receivedAt: number;
  /** The line of names that its body began with. */
  readonly head: string;
};

export const pushVirtualColumns: VirtualColumns<PushMessage> = {
  _offset: { kind: "integer", read: (message) => message.position },
  _timestamp: { kind: "millis", read: (message) => message.receivedAt },
  _head: { kind: "text", read: (message) => message.head },
  _raw_message: { kind: "text", read: (message) => message.bytes.subarray(message.start, message.end) },
};
