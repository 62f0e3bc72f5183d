/**
 * Native connections that cannot be handed over, because TLS ends in the control plane. Their clients have logged in
 * there; a pipe carries the packets to the engine host, on the port of requests that the gateway forwards, or to the
 * relay of the server that has the engine.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { plainAddress } from "../auth/access-list.ts";
import { clientAddressOf } from "../connections/client-address.ts";
import { LeasedReads } from "../forward/read-buffers.ts";
import type { UpstreamConnector } from "../forward/upstream-connection.ts";
import type { HandoffSender } from "../handoff/sender.ts";
import type { PacketInput } from "./input.ts";
import type { NativeSession } from "./session.ts";

export type PipedClient = {
  /** Names the pipe in messages between both processes. */
  readonly pipe: string;
  /** The client's address. */
  readonly address: string;
  readonly session: NativeSession;
};

const header = "x-millrace-native";

export function readPiped(headers: IncomingHttpHeaders): PipedClient | undefined {
  const value = headers[header];
  return typeof value === "string" ? (JSON.parse(Buffer.from(value, "base64").toString()) as PipedClient) : undefined;
}

/** Where the packets go. */
export type PipeTarget = {
  readonly connector: UpstreamConnector;
  /** The header that lets them in. */
  readonly header: string;
  /** An engine host has it, and may let the connection rest. */
  readonly sender?: HandoffSender;
};

/**
 * Passes packets until either side ends. Resolves with the session when the host lets the connection rest; with
 * undefined when it is over. Rejects when the other side cannot be reached.
 */
export async function passPackets(client: Socket, input: PacketInput, session: NativeSession, to: PipeTarget) {
  const { connector, sender } = to;
  const reads = new LeasedReads((bytes) => void client.write(bytes, reads.hold()));
  const socket = connector.open(reads.onread);
  reads.socket = socket;
  const pipe = randomUUID();
  const shown: PipedClient = { pipe, address: plainAddress(clientAddressOf(client)), session };
  const value = Buffer.from(JSON.stringify(shown)).toString("base64");
  await once(socket, connector.readyEvent).catch((cause) => {
    const text = "The engine of this service does not answer now: connect again.";
    throw clickHouseException("NETWORK_ERROR", text, { cause });
  });
  socket.write(
    `GET / HTTP/1.1\r\nHost: host\r\n${to.header}\r\n${header}: ${value}\r\nConnection: Upgrade\r\nUpgrade: native\r\n\r\n`,
  );
  let sent = 0;
  let rests: NativeSession | undefined;
  sender?.pipes.set(pipe, (received, resting) => {
    if (received !== sent) return;
    rests = resting;
    input.passTo(undefined);
    socket.end();
  });
  const onClose = () => socket.destroy();
  client.once("close", onClose);
  socket.on("error", () => {});
  input.passTo((chunk) => {
    sent += chunk.length;
    socket.write(chunk);
  }, socket);
  await once(socket, "close");
  sender?.pipes.delete(pipe);
  input.passTo(undefined);
  client.off("close", onClose);
  return rests;
}
