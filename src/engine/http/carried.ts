/**
 * Requests that the gateway carries, because it ends TLS or because the engine has just woken: on a unix socket that only
 * the control plane's user can open. The gateway has asked for the password and says who it is.
 */
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname } from "node:path";
import { answerFailure } from "../../door/answer.ts";
import type { Visitor } from "../../door/door.ts";
import type { Logger } from "../../lib/logger.ts";
import { createServer } from "../../lib/node-http.ts";
import type { Queries } from "./queries.ts";

const maxHeaderBytes = 4 * 1_048_576;

/** Listens on `path`; its folder is created private. */
export async function listenForGateway(path: string, queries: Queries, logger: Logger): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  const options = { maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 0, requestTimeout: 0 };
  const server = createServer(options, (message, response) => void serve(message, response, queries, logger));
  server.headersTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
}

async function serve(message: IncomingMessage, response: ServerResponse, queries: Queries, logger: Logger) {
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the gateway went away")));
  try {
    await queries.serve(message, response, visitorOf(message), { signal: gone.signal });
  } catch (error) {
    answerFailure(message, response, error, logger);
  }
}

function visitorOf({ headers }: IncomingMessage): Visitor {
  const user = decodeURIComponent(String(headers["x-millrace-user"]));
  return { user, readonly: headers["x-millrace-readonly"] === "0" ? 0 : 2 };
}
