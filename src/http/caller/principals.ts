/**
 * Remembers whom a header or cookie has identified: reading the credential from the store and hashing its secret would
 * be a third of the work of a small request.
 */
import type { KeyRole, PushLimits } from "../../api/keys.ts";

export type Principal = {
  readonly organizationId: string;
  readonly role: KeyRole;
  readonly credentialId: string;
  /** The role `push` has it: the one pipe to which the key may send rows, and how many. */
  readonly pipeId?: string | undefined;
  readonly pushLimits?: PushLimits | undefined;
  /** The end of the credential, in ms since 1970. */
  readonly expiresAt: number;
  /** Present when a browser's session authenticated the request, with `credentialId` as its key. */
  readonly sessionId?: string;
};

/** Authentication that the header or cookie of a request asks for. */
export type CredentialKind = "basic" | "bearer" | "sender" | "session";

type Known = {
  readonly principal: Principal;
  readonly address: string;
  readonly revision: number;
  readonly minute: number;
};

/** Above this number of values of a kind all of them are forgotten. */
const maxKnown = 1_000;

export class AdmittedCredentials {
  readonly #known: Readonly<Record<CredentialKind, Map<string, Known>>> = {
    basic: new Map(),
    bearer: new Map(),
    sender: new Map(),
    session: new Map(),
  };
  readonly #revision: () => number;

  /** `revision` is raised by every write of keys, tokens and sessions. */
  constructor(revision: () => number) {
    this.#revision = revision;
  }

  /**
   * The principal of a header or cookie. `authenticate` is called unless it has admitted the same value from the same
   * address in the same minute, since when no credential or session has changed. Uses are recorded once a minute, and
   * that is when it looks at the times of a session.
   */
  of(
    kind: CredentialKind,
    value: string,
    address: string,
    authenticate: () => Promise<Principal>,
  ): Principal | Promise<Principal> {
    const now = Date.now();
    const minute = Math.floor(now / 60_000);
    const revision = this.#revision();
    const known = this.#known[kind].get(value);
    if (known?.revision === revision && known.minute === minute && known.address === address) {
      if (known.principal.expiresAt > now) return known.principal;
    }
    return authenticate().then((principal) => {
      const ofKind = this.#known[kind];
      if (ofKind.size >= maxKnown) ofKind.clear();
      ofKind.set(value, { principal, address, revision, minute });
      return principal;
    });
  }
}
