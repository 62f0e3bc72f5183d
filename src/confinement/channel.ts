/**
 * The channel of a confined child, whose messages are untrusted. Node itself trusts them: text that is not JSON, an
 * unexpected acknowledgement, or a listener that throws at a message would end this process.
 */
import type { ChildProcess } from "node:child_process";

/** Far above the largest message of a child of ours. */
const maxMessageBytes = 16 * 1024 * 1024;
const newline = 10;

/** Node's handle of the channel. */
type Handle = { onread: (this: Handle, bytes: ArrayBuffer | undefined) => unknown };

/** What Node keeps in a child, besides its public interface: handles that wait for an acknowledgement. */
type Internals = { readonly _handleQueue?: unknown };

const violations = new WeakMap<ChildProcess, string>();

/** Why the child was killed for a message; undefined when it was not. */
export function violationOf(child: ChildProcess): string | undefined {
  return violations.get(child);
}

/**
 * Kills the child, instead of throwing in this process, when it sends what Node cannot read, a message above
 * `maxBytes`, or what a listener of "message" throws at. Call it before the first turn of the event loop.
 * Throws when this version of Node hides the channel.
 */
export function guardChannel(child: ChildProcess, maxBytes = maxMessageBytes): void {
  if (child.channel == null) return;
  const handle = handleOf(child);
  const { onread } = handle;
  const emit = child.emit.bind(child) as (event: string, ...args: unknown[]) => boolean;
  let unfinished = 0;
  const attempt = (act: () => unknown): boolean => {
    // What arrived before it is killed is not read any more.
    if (violations.has(child)) return false;
    try {
      act();
      return true;
    } catch (error) {
      violations.set(child, `it sent an invalid message: ${error instanceof Error ? error.message : String(error)}`);
      child.kill("SIGKILL");
      return false;
    }
  };
  handle.onread = function (bytes) {
    // The end of the channel is always passed on.
    if (bytes === undefined) return onread.call(this, bytes);
    attempt(() => {
      const end = new Uint8Array(bytes).lastIndexOf(newline);
      unfinished = end === -1 ? unfinished + bytes.byteLength : bytes.byteLength - end - 1;
      if (unfinished > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
      onread.call(this, bytes);
    });
  };
  child.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event !== "message" && event !== "internalMessage") return emit(event as string, ...args);
    return attempt(() => {
      if (event === "internalMessage") checkInternal(args[0], child);
      emit(event, ...args);
    });
  };
}

/** Messages between the two ends of the channel about handles, which only this process sends. */
function checkInternal(message: unknown, child: ChildProcess & Internals): void {
  const { cmd } = message as { cmd: string };
  // The answer when a listener closes whose connections were sent to the child.
  if (cmd === "NODE_SOCKET_ALL_CLOSED") return;
  if (cmd !== "NODE_HANDLE_ACK" && cmd !== "NODE_HANDLE_NACK") throw new Error(`${cmd.slice(0, 40)} is not expected`);
  if (!Array.isArray(child._handleQueue)) throw new Error("it acknowledges what was not sent");
}

function handleOf(child: ChildProcess): Handle {
  const symbol = Object.getOwnPropertySymbols(child).find(({ description }) => description === "kChannelHandle");
  const handle = symbol && (child as unknown as Record<symbol, Handle | undefined>)[symbol];
  if (typeof handle?.onread !== "function") throw new Error("this version of Node hides the channel of a child");
  return handle;
}
