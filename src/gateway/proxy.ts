/**
 * Passes one authenticated request on to the engine host and its answer back, bytes as they are, with back-pressure
 * both ways. Either side going away ends the other; an answer that the engine cut off ends in a broken connection,
 * never as a complete one.
 */
import { type Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { clickHouseException } from "../clickhouse/exception.ts";
import { credentialParameters } from "../door/credentials.ts";
import { relay } from "../lib/batch-writer.ts";

export type Upstream = {
  readonly socketPath: string;
  readonly agent: Agent;
  readonly user: string;
  readonly readonly: 0 | 1 | 2;
};

/** Request headers that mean something to the engine host. Nothing else travels on, least of all our own. */
const passedHeaders = new Set(["content-type", "content-encoding", "content-length", "accept-encoding", "user-agent"]);
const droppedHeaders = new Set(["x-clickhouse-user", "x-clickhouse-key", "x-clickhouse-ssl-certificate-auth"]);
/** Response headers that belong to one connection only. */
const hopHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "date", "trailer", "upgrade"]);

/** The engine's socket could not be reached: nothing was sent, so the request may be forwarded again. */
export class EngineNotReached extends Error {
  override readonly name = "EngineNotReached";
}

/**
 * Resolves when both sides are done. Rejects, only while nothing was sent back yet, with EngineNotReached or with an
 * exception to send.
 */
export function forward(message: IncomingMessage, response: ServerResponse, url: URL, to: Upstream): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      socketPath: to.socketPath,
      agent: to.agent,
      method: message.method,
      path: pathOf(url),
      headers: requestHeaders(message, to),
    });
    let answered = false;
    let connected = false;
    const onClose = () => {
      outgoing.destroy();
      resolve();
    };
    const onBroken = () => outgoing.destroy();
    outgoing.on("error", (error) => {
      if (answered || response.destroyed) resolve();
      else if (!connected) {
        // Another attempt may follow, which listens for itself.
        response.off("close", onClose);
        message.off("error", onBroken);
        reject(new EngineNotReached("the engine's socket does not answer", { cause: error }));
      } else reject(clickHouseException("NETWORK_ERROR", "The service's engine went away.", { cause: error }));
    });
    outgoing.on("response", (incoming) => {
      answered = true;
      passBack(incoming, response, resolve);
    });
    response.on("close", onClose);
    message.on("error", onBroken);
    const start = () => {
      connected = true;
      relay(message, outgoing);
    };
    // The body stays unread until there is somebody to take it.
    outgoing.once("socket", (socket) => (socket.connecting ? socket.once("connect", start) : start()));
  });
}

function passBack(incoming: IncomingMessage, response: ServerResponse, done: () => void): void {
  const headers: string[] = [];
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i] as string;
    if (!hopHeaders.has(name.toLowerCase())) headers.push(name, incoming.rawHeaders[i + 1] as string);
  }
  response.writeHead(incoming.statusCode ?? 502, headers);
  const writer = relay(incoming, response);
  incoming.on("error", () => writer.flush());
  incoming.on("close", () => {
    writer.flush();
    // Without the end of the message the answer is cut off, and the client has to see that.
    if (!incoming.complete) response.write("", () => response.socket?.destroySoon());
    done();
  });
}

function requestHeaders(message: IncomingMessage, to: Upstream): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    const passed = passedHeaders.has(name) || (name.startsWith("x-clickhouse-") && !droppedHeaders.has(name));
    if (passed && value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  headers["x-millrace-user"] = encodeURIComponent(to.user);
  headers["x-millrace-readonly"] = String(to.readonly);
  return headers;
}

/** Path and query without the credentials. */
function pathOf(url: URL): string {
  const kept = url.search
    .slice(1)
    .split("&")
    .filter((pair) => ![...new URLSearchParams(pair).keys()].some((name) => credentialParameters.has(name)));
  return kept.length === 0 || kept[0] === "" ? url.pathname : `${url.pathname}?${kept.join("&")}`;
}
