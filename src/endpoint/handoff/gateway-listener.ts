/**
 * Serves requests that the gateway forwards, because it terminates TLS or because the engine has just woken, on a
 * loopback port protected by a key of this start. The gateway has authenticated the client and names the user.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { listenOn } from "../../lib/listen.ts";
import { createServer } from "../../lib/node-http.ts";
import { answerFailure } from "../answer.ts";
import { principalOf } from "../forward/principal-headers.ts";
import type { ForwardAddress } from "../forward/upstream.ts";
import { type PipedClient, readPiped } from "../native/pipe.ts";
import type { QueryServer } from "./query-server.ts";

const maxHeaderBytes = 4 * 1_048_576;

export type GatewayListener = {
  readonly port: number;
  /** Breaks its connections. */
  close(): void;
};

/** Port 0 selects a free one. Rejects when the port is taken. */
export async function listenForGateway(
  address: ForwardAddress,
  queries: QueryServer,
  logger: LineLogger,
  onPiped: (socket: Socket, client: PipedClient, ahead: Buffer) => void = (socket) => socket.destroy(),
): Promise<GatewayListener> {
  const options = { maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 0, requestTimeout: 0 };
  const server = createServer(options, (message, response) => {
    if (knows(message, address.key)) void serve(message, response, queries, logger);
    else response.writeHead(404).end();
  });
  server.headersTimeout = 0;
  server.on("upgrade", (message: IncomingMessage, socket: Socket, ahead: Buffer) => {
    const client = knows(message, address.key) ? readPiped(message.headers) : undefined;
    if (client === undefined) return socket.destroy();
    socket.setNoDelay(true);
    onPiped(socket, client, ahead);
  });
  const onError = (err: Error) => logger.warn({ err }, "a connection from the gateway was not accepted");
  const port = await listenOn(server, { host: "127.0.0.1", port: address.port }, onError);
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port, close };
}

function knows({ headers }: IncomingMessage, key: string): boolean {
  const shown = Buffer.from(String(headers["x-millrace-key"]));
  const expected = Buffer.from(key);
  return shown.length === expected.length && timingSafeEqual(shown, expected);
}

async function serve(message: IncomingMessage, response: ServerResponse, queries: QueryServer, logger: LineLogger) {
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the gateway went away")));
  try {
    await queries.serve(message, response, principalOf(message), { signal: gone.signal });
  } catch (error) {
    answerFailure(message, response, error, logger, { loggedIn: true });
  }
}
