/** Tunnels (`CONNECT host:port`), which clients request for `https:`. Their content is encrypted end to end. */
import type { Socket } from "node:net";
import type { Dialer, DialTarget } from "../../outgoing/dialer.ts";
import { LeasedReads } from "../forward/read-buffers.ts";
import { dial } from "./dial.ts";
import { answerFor, badProxyRequest, bodyOf, type ProxyAnswer, reasonOf } from "./proxy-answers.ts";

/** An idle tunnel is closed after this time. */
const idleMs = 600_000;

export type TunnelOptions = {
  readonly dialerFor: (target: DialTarget) => Dialer;
  readonly connectTimeoutMs: number;
};

/** Streams in both directions with back-pressure until one side ends. `head` is what the client has sent already. */
export function openTunnel(options: TunnelOptions, authority: string, client: Socket, head: Buffer): void {
  client.on("error", () => client.destroy());
  const target = targetOf(authority);
  if (target === undefined) {
    answer(client, badProxyRequest);
    return;
  }
  const reads = new LeasedReads((bytes) => void client.write(bytes, reads.hold()));
  const upstream = dial(options.dialerFor(target), target, options.connectTimeoutMs, reads.onread);
  reads.socket = upstream;
  const refuse = (error: Error) => answer(client, answerFor(error));
  upstream.once("error", refuse);
  client.once("close", () => upstream.destroy());
  upstream.once("connect", () => {
    upstream.off("error", refuse);
    upstream.on("error", () => client.destroy());
    // Received bytes are still sent.
    upstream.once("close", () => client.destroySoon());
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (head.length > 0) upstream.write(head);
    for (const socket of [client, upstream]) socket.setTimeout(idleMs, () => socket.destroy());
    upstream.once("end", () => client.end());
    client.pipe(upstream);
  });
}

function targetOf(authority: string): DialTarget | undefined {
  const [, host = "", digits = ""] = /^(\[[^\]]+\]|[^:/@\s]+):(\d{1,5})$/.exec(authority) ?? [];
  const port = Number(digits);
  return host !== "" && port >= 1 && port <= 65_535 ? { host: host.replaceAll(/[[\]]/g, ""), port } : undefined;
}

function answer(client: Socket, content: ProxyAnswer): void {
  const body = bodyOf(content);
  const head = `HTTP/1.1 ${content.status} ${reasonOf(content)}\r\nContent-Type: application/xml\r\nConnection: close`;
  client.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
