/** Which connections are authenticated. The others may use only little memory, and only so many of one address wait. */
import type { Socket } from "node:net";
import { clientAddressOf } from "../connections/client-address.ts";
import { networkOf } from "./access-list.ts";

/** Unauthenticated connections per address; above this the one that has waited longest is closed. */
export const maxStrangers = 500;

const loggedIn = new WeakSet<Socket>();

/** Marks the connection as authenticated by a right password, for as long as it is open. */
export function markLoggedIn(socket: Socket): void {
  loggedIn.add(socket);
}

export function isLoggedIn(socket: Socket): boolean {
  return loggedIn.has(socket);
}

/**
 * Closes the unauthenticated connection that has waited longest of those from the address of `newest`, if there are
 * more than `most`. `open` has all connections, also `newest`, in order of arrival.
 */
export function makeRoom(
  newest: Socket,
  open: { readonly size: number; keys(): Iterable<Socket> },
  most = maxStrangers,
): void {
  if (open.size <= most) return;
  const network = networkOf(clientAddressOf(newest));
  let strangers = 0;
  let first: Socket | undefined;
  for (const socket of open.keys()) {
    if (isLoggedIn(socket) || networkOf(clientAddressOf(socket)) !== network) continue;
    strangers += 1;
    first ??= socket;
  }
  if (strangers > most) first?.destroy();
}
