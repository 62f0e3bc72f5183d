/** Which connections belong to somebody who has shown a password. What costs memory is kept small for the others. */
import type { Socket } from "node:net";

const loggedIn = new WeakSet<Socket>();

/** Notes that a request of this connection came with the right password. It holds as long as the connection does. */
export function markLoggedIn(socket: Socket): void {
  loggedIn.add(socket);
}

export function isLoggedIn(socket: Socket): boolean {
  return loggedIn.has(socket);
}
