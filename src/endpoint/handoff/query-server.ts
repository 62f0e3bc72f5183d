/** Handles authenticated requests. The engine room implements it: this room does not know SQL. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DatabasePrincipal } from "../auth/logins.ts";

export type ServeOptions = {
  /** Cancels the query when it aborts. */
  readonly signal: AbortSignal;
  /** Receives the statement before it is judged. */
  readonly onStatement?: (text: Buffer) => void;
};

export interface QueryServer {
  /** Rejects with an exception to send, and only before any part of the response is sent. */
  serve(
    message: IncomingMessage,
    response: ServerResponse,
    principal: DatabasePrincipal,
    options: ServeOptions,
  ): Promise<void>;
  /** Ends what waits without need, so that its clients are answered before the service stops. Never rejects. */
  settle?(): Promise<void>;
}
