/** Who is signed in, outside of React: requests and screens read it. */
import type { Result } from "../../../src/api/operation.ts";
import type { ManagementOperations } from "../../../src/api/operations.ts";
import { Store } from "../lib/store.ts";

export type Identity = Result<ManagementOperations["getMe"]>;

export type Session = {
  /** Kept after a session has expired: the page below the login stays. */
  readonly identity: Identity | undefined;
  /** Why there is no session; undefined while there is one. */
  readonly signedOut: "unknown" | "none" | "expired" | "left" | "used-link" | undefined;
};

export const sessionStore = new Store<Session>({ identity: undefined, signedOut: "unknown" });

export function signedIn(identity: Identity): void {
  sessionStore.set({ identity, signedOut: undefined });
}

/** After a refused request the page stays below the login; otherwise it is closed. */
export function signedOut(reason: "none" | "expired" | "left" | "used-link"): void {
  const { identity, signedOut: known } = sessionStore.get();
  if (known !== undefined && known !== "unknown") return;
  sessionStore.set({ identity: reason === "expired" ? identity : undefined, signedOut: reason });
}
