/** A proxy in front of an HTTP server, such as a store, with which tests make it fail or answer slowly. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export type StoreProxy = AsyncDisposable & {
  readonly endpoint: string;
  /** Every connection breaks. */
  down: boolean;
  /** Number of responses so far, and their bytes. */
  answers: number;
  bytes: number;
  /** Requests for which this is true are answered with status 400. */
  refuses: (incoming: IncomingMessage) => boolean;
  /** What a request waits for before it is forwarded, or the delay in milliseconds. */
  pauseBefore: (incoming: IncomingMessage) => number | Promise<void>;
  /** Milliseconds between the first half of a body and the second. */
  pauseAmid: (incoming: IncomingMessage) => number;
};

export async function startStoreProxy(endpoint: string): Promise<StoreProxy> {
  const upstream = new URL(endpoint);
  const server = createServer(async (incoming, outgoing) => {
    if (front.down) return void outgoing.destroy();
    front.answers += 1;
    if (front.refuses(incoming)) {
      outgoing.statusCode = 400;
      return void outgoing.end();
    }
    const pause = front.pauseBefore(incoming);
    if (typeof pause !== "number") await pause;
    else if (pause > 0) await delay(pause);
    const { method, url: path, headers } = incoming;
    const onward = request({ host: upstream.hostname, port: upstream.port, method, path, headers }, async (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.on("data", (chunk: Buffer) => {
        front.bytes += chunk.length;
      });
      const amid = front.pauseAmid(incoming);
      if (amid === 0) return void answer.pipe(outgoing);
      const body = Buffer.concat(await answer.toArray());
      outgoing.write(body.subarray(0, body.length >> 1));
      await delay(amid);
      outgoing.end(body.subarray(body.length >> 1));
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const front: StoreProxy = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    down: false,
    answers: 0,
    bytes: 0,
    refuses: () => false,
    pauseBefore: () => 0,
    pauseAmid: () => 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return front;
}
