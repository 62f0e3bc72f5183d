/**
 * Addresses of clients whose connections come from a proxy, and what was read of such a connection ahead of its first
 * request. Other connections are as the socket says.
 */
import type { Socket } from "node:net";

type Known = { address: string | undefined; ahead: Buffer };

const none = Buffer.alloc(0);
const known = new WeakMap<Socket, Known>();

/**
 * Says whose connection it is, if the address is another one than the socket's, and which bytes of the client were
 * read already.
 */
export function setClient(socket: Socket, { address, ahead = none }: Partial<Known>): void {
  known.set(socket, { address, ahead });
}

/** The address to judge the client by. */
export function clientAddressOf(socket: Socket): string {
  return known.get(socket)?.address ?? socket.remoteAddress ?? "";
}

/** What a proxy said of the client; undefined: nothing. */
export function namedClientOf(socket: Socket): string | undefined {
  return known.get(socket)?.address;
}

/** Bytes of the client that were read and are not yet used; undefined: the connection has no header before them. */
export function aheadOf(socket: Socket): Buffer | undefined {
  return known.get(socket)?.ahead;
}

/** From now on, another process has the bytes that were read ahead. */
export function forgetAhead(socket: Socket): void {
  const client = known.get(socket);
  if (client !== undefined) client.ahead = none;
}
