/** Signs in and out. The session itself is a cookie that scripts cannot read. */
import { errorOf, request } from "./client.ts";
import { asApiError } from "./error.ts";
import { type Identity, sessionStore, signedIn, signedOut } from "./session-state.ts";

const path = "/console/session";

export type Login = { readonly token: string } | { readonly keyId: string; readonly keySecret: string };

/** Signs in. Throws ApiError: 401 for wrong credentials, 429 after too many attempts. */
export async function signIn(login: Login): Promise<void> {
  const response = await request("POST", path, { body: login });
  if (!response.ok) throw await errorOf(response);
  const before = sessionStore.get().identity;
  const { result } = (await response.json()) as { result: Identity };
  // What another organization has shown must not stay.
  if (before !== undefined && before.organization.id !== result.organization.id) location.reload();
  signedIn(result);
}

/** Ends the session at the server and closes the page. What was typed is not for the key that signs in next. */
export async function signOut(): Promise<void> {
  await request("DELETE", path).catch(() => undefined);
  sessionStorage.clear();
  signedOut("left");
}

/** At the start: uses the one-time link of the address, or the session that exists. */
export async function startSession(): Promise<void> {
  const token = takeToken();
  try {
    if (token !== undefined) return await signIn({ token });
  } catch (error) {
    if (asApiError(error).status !== 401) throw error;
    // A link that was opened twice in one browser: its session is there.
    return await resume("used-link");
  }
  await resume("none");
}

async function resume(otherwise: "none" | "used-link"): Promise<void> {
  const response = await request("GET", path);
  if (response.ok) return signedIn(((await response.json()) as { result: Identity }).result);
  if (response.status === 401) return signedOut(otherwise);
  throw await errorOf(response);
}

/**
 * The token of the fragment, which is removed from the address and from the history. `#login=TOKEN&to=/pipes` also
 * names the page to show; it is always one of the console.
 */
function takeToken(): string | undefined {
  const [, token, to] = /^#login=([\w-]+)(?:&to=(\/[^&]*))?$/.exec(location.hash) ?? [];
  if (token === undefined) return undefined;
  const address = to === undefined ? location.pathname + location.search : `/console${decodeURIComponent(to)}`;
  history.replaceState(history.state, "", address);
  return token;
}
