/** The caller of a request and its rights: the second argument of every handler. */

import type { FastifyRequest } from "fastify";
import type { KeyRole } from "../../api/keys.ts";
import type { AccessLevel } from "../../api/operation.ts";
import { type ChildAbort, childOf } from "../../lib/abort.ts";
import type { ExpectedVersions } from "../../store/database/versioned-rows.ts";
import type { Principal } from "./principals.ts";

const ranks: Record<AccessLevel | KeyRole, number> = { push: -1, read: 0, read_only: 0, developer: 1, admin: 2 };

export function mayCall(role: KeyRole, access: AccessLevel): boolean {
  return ranks[role] >= ranks[access];
}

/**
 * The versions of an `If-Match` header: entity tags of objects, or bare versions. A tag of something else matches
 * nothing. Undefined without the header and for `*`.
 */
export function expectedVersions(header: string | undefined): ExpectedVersions {
  if (header === undefined || header.trim() === "*") return undefined;
  const tags = header.split(",").map((tag) => /^(?:W\/)?"?(\d{1,15})(?:\.[\w-]*)?"?$/.exec(tag.trim())?.[1]);
  return tags.filter((version) => version !== undefined).map(Number);
}

/** What handlers see of the context. */
export type Context = Omit<RequestContext, "nextPageHeader" | "release">;

/** The context of one request. Its signal is created on first use: most handlers never wait. */
export class RequestContext {
  readonly organizationId: string;
  readonly role: KeyRole;
  /** Id of the credential that authenticated the request. */
  readonly credentialId: string;
  /** Present when a browser's session authenticated the request. */
  readonly sessionId?: string;
  readonly requestId: string;
  /** The versions in `If-Match`: a change of any other one must fail. Undefined: any. */
  readonly expected: ExpectedVersions;
  /** Address of the client. */
  readonly address: string;
  readonly #socket: FastifyRequest["socket"];
  readonly #parent: AbortSignal;
  #child: ChildAbort | undefined;
  #onClose: (() => void) | undefined;
  #nextCursor: string | undefined;

  constructor(principal: Principal, request: FastifyRequest, parent: AbortSignal) {
    this.organizationId = principal.organizationId;
    this.role = principal.role;
    this.credentialId = principal.credentialId;
    if (principal.sessionId !== undefined) this.sessionId = principal.sessionId;
    this.requestId = request.id;
    this.expected = expectedVersions(request.headers["if-match"]);
    this.address = request.ip;
    this.#socket = request.raw.socket;
    this.#parent = parent;
  }

  /** Aborts when the client disconnects or the server stops. */
  get signal(): AbortSignal {
    if (this.#child === undefined) {
      const child = childOf(this.#parent);
      this.#child = child;
      this.#onClose = () => child.abort(new Error("the client went away"));
      if (this.#socket.destroyed) this.#onClose();
      else this.#socket.once("close", this.#onClose);
    }
    return this.#child.signal;
  }

  /** Names the next page of a `linked` list in the response. */
  continueAt(cursor: string): void {
    this.#nextCursor = cursor;
  }

  /** The header that names the next page of the list at `url`: name and value, or nothing on the last page. */
  nextPageHeader(url: string): string[] {
    if (this.#nextCursor === undefined) return [];
    const [path, query] = url.split("?", 2);
    const next = new URLSearchParams(query);
    next.set("cursor", this.#nextCursor);
    return ["link", `<${path}?${next}>; rel="next"`];
  }

  /** Called when the request has been answered. */
  release(): void {
    if (this.#onClose !== undefined) this.#socket.off("close", this.#onClose);
    this.#child?.[Symbol.dispose]();
  }
}
