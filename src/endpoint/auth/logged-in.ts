/** Which connections are authenticated. The others may use only little memory. */
import type { Socket } from "node:net";

const loggedIn = new WeakSet<Socket>();

/** Marks the connection as authenticated by a right password, for as long as it is open. */
export function markLoggedIn(socket: Socket): void {
  loggedIn.add(socket);
}

export function isLoggedIn(socket: Socket): boolean {
  return loggedIn.has(socket);
}
