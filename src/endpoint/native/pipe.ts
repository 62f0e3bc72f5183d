/**
 * Native connections that cannot be handed over, because TLS ends in the control plane. Their clients have logged in
 * there; a pipe to the engine host carries the packets, on the port of requests that the gateway forwards.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import type { ForwardAddress } from "../forward/upstream.ts";
import type { HandoffSender } from "../handoff/sender.ts";
import type { PacketInput } from "./input.ts";
import type { NativeSession } from "./session.ts";

export type PipedClient = {
  /** Names the pipe in messages between both processes. */
  readonly pipe: string;
  /** Of the client. */
  readonly address: string;
  readonly session: NativeSession;
};

const header = "x-millrace-native";

export function readPiped(headers: IncomingHttpHeaders): PipedClient | undefined {
  const value = headers[header];
  return typeof value === "string" ? (JSON.parse(Buffer.from(value, "base64").toString()) as PipedClient) : undefined;
}

export type PipeOptions = {
  readonly client: Socket;
  readonly input: PacketInput;
  readonly address: string;
  readonly session: NativeSession;
  readonly host: ForwardAddress;
  readonly sender: HandoffSender;
};

/**
 * Passes packets until either side ends. Resolves with the session when the host lets the connection rest; with
 * undefined when it is over. Rejects when the host cannot be reached.
 */
export async function pipeToHost(options: PipeOptions): Promise<NativeSession | undefined> {
  const { client, input, address, session, host, sender } = options;
  const { port, key } = host;
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const pipe = randomUUID();
  const shown: PipedClient = { pipe, address, session };
  const value = Buffer.from(JSON.stringify(shown)).toString("base64");
  await once(socket, "connect");
  socket.write(
    `GET / HTTP/1.1\r\nHost: host\r\nX-Millrace-Key: ${key}\r\n${header}: ${value}\r\nConnection: Upgrade\r\nUpgrade: native\r\n\r\n`,
  );
  let sent = 0;
  let rests: NativeSession | undefined;
  sender.pipes.set(pipe, (received, resting) => {
    if (received !== sent) return;
    rests = resting;
    input.passTo(undefined);
    socket.end();
  });
  const onClose = () => socket.destroy();
  const onDrain = () => socket.resume();
  client.on("drain", onDrain).once("close", onClose);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    if (!client.write(chunk)) socket.pause();
  });
  socket.on("drain", () => {
    input.isHeld = false;
  });
  input.passTo((chunk) => {
    sent += chunk.length;
    if (!socket.write(chunk)) input.isHeld = true;
  });
  await once(socket, "close");
  sender.pipes.delete(pipe);
  input.passTo(undefined);
  input.isHeld = false;
  client.off("drain", onDrain).off("close", onClose);
  return rests;
}
