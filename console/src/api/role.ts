/** What the key of the session may do. The server decides; here controls tell it beforehand. */
import { useStore } from "../lib/store.ts";
import { sessionStore } from "./session-state.ts";

export type Role = "push" | "read_only" | "developer" | "admin";

const order: readonly Role[] = ["push", "read_only", "developer", "admin"];

/** Undefined if the role suffices; otherwise a sentence with the reason. */
export function useRefusal(needs: Role | undefined): string | undefined {
  const role = useStore(sessionStore).identity?.key.role;
  if (needs === undefined || role === undefined || order.indexOf(role) >= order.indexOf(needs)) return undefined;
  return `Needs the role ${needs}; this key has ${role}.`;
}

/** True if the key of the session has this role or a higher one. */
export function useMay(needs: Role): boolean {
  return useRefusal(needs) === undefined;
}
