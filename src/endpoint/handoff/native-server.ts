/** Serves connections of the native protocol. The engine room implements it: this room does not know SQL. */
import type { Socket } from "node:net";
import type { ClickHouseException } from "../../clickhouse/exception.ts";
import type { Logins } from "../auth/logins.ts";
import type { NativeSession } from "../native/session.ts";

export type NativeHooks = {
  readonly logins: Logins;
  /** A client that has logged in elsewhere brings it; undefined: it has not. */
  readonly session: NativeSession | undefined;
  /** Bytes of the client that were read before. */
  readonly ahead: Buffer;
  /** Called with every session that holds from now on. */
  readonly onSession: (session: NativeSession) => void;
  /** Called before something of the client is handled, and when the connection waits for its next packet. */
  readonly onBusy: (busy: boolean) => void;
  /** Called when a query begins and when it ends. */
  readonly onRunning: (running: boolean) => void;
  readonly onStatement: (text: Buffer) => void;
};

export type NativeConnection = {
  /**
   * Closes our end of the connection if it waits for its next packet, and nothing of that was read. Returns whether it
   * did.
   */
  release(): boolean;
  /** How many bytes of the client were read, if the connection waits for its next packet. */
  atRest(): number | undefined;
  /** Ends the connection; its query is cancelled and gets the exception, if its answer has not begun. */
  end(exception: ClickHouseException): void;
};

export interface NativeServer {
  serve(socket: Socket, hooks: NativeHooks): NativeConnection;
  /** Resolves when it is known which connections run queries: the end of an answer is not always seen. */
  settle(): Promise<void>;
}
