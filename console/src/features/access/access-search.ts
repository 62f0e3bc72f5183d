/** Filters of keys and tokens in the address. */
import { textsOf } from "../../lib/search.ts";

export type AccessSearch = ReturnType<typeof accessSearch>;

export function accessSearch(search: Record<string, unknown>) {
  return textsOf(search, "q", "state");
}

type Credential = {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly expireAt?: string | null | undefined;
};

/** `expired` goes before `enabled`: an expired key is refused although it is enabled. */
export function credentialState({ state, expireAt }: Credential, now: number): "enabled" | "disabled" | "expired" {
  if (state !== "enabled") return "disabled";
  return expireAt != null && Date.parse(expireAt) <= now ? "expired" : "enabled";
}

const soonMs = 14 * 86_400_000;

/** Less than 14 days are left, or none. */
export function expiresSoon({ expireAt }: Pick<Credential, "expireAt">, now: number): boolean {
  return expireAt != null && Date.parse(expireAt) - now < soonMs;
}

export function shownCredentials<T extends Credential>(
  all: readonly T[],
  { q, state }: AccessSearch,
  now: number,
): T[] {
  const text = q?.toLowerCase() ?? "";
  return all
    .filter(
      (one) =>
        (state === undefined || credentialState(one, now) === state) &&
        (text === "" || one.name.toLowerCase().includes(text) || one.id.startsWith(text)),
    )
    .toSorted((a, b) => a.name.localeCompare(b.name));
}
