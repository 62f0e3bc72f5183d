/** What answers requests that were let in. The engine room implements it: nothing here knows SQL. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Visitor } from "../auth/door.ts";

export type ServeOptions = {
  /** Ends the query when it aborts. */
  readonly signal: AbortSignal;
  /** Told the statement before it is judged. */
  readonly onStatement?: (text: Buffer) => void;
};

export interface QueryServer {
  /** Rejects, only while nothing was sent back yet, with an exception to send. */
  serve(message: IncomingMessage, response: ServerResponse, visitor: Visitor, options: ServeOptions): Promise<void>;
}
