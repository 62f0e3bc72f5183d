/**
 * Requests of browsers that are signed in: the session's cookie, and the check that a request comes from a page of this
 * server. The check is needed because a browser attaches the cookie also to requests of pages from other ports of the
 * host: for SameSite, ports do not matter.
 */
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../lib/errors.ts";

export type BrowserOptions = {
  /** Port of the API, which distinguishes the cookies of several servers on one host. */
  readonly port: () => number;
  /** True when clients use https, at this server or at a proxy. */
  readonly secure: boolean;
  /** True when this server itself terminates TLS. */
  readonly tls: boolean;
  /** URL of the API as clients see it, if it differs from the one in the Host header. */
  readonly publicUrl: string | undefined;
};

const longestSeconds = 7 * 24 * 3600;
/** No page of another origin can send this header: a browser asks the server first, and the answer is never yes. */
const ownHeader = "x-millrace-console";

type Asked = { readonly method: string; readonly headers: IncomingHttpHeaders };

export class BrowserRequests {
  readonly #options: BrowserOptions;
  readonly #publicOrigin: string | undefined;

  constructor(options: BrowserOptions) {
    this.#options = options;
    this.#publicOrigin = options.publicUrl === undefined ? undefined : new URL(options.publicUrl).origin;
  }

  /** The value of the session's cookie. */
  sessionOf({ cookie }: IncomingHttpHeaders): string | undefined {
    if (cookie === undefined) return undefined;
    const start = `${this.#name()}=`;
    for (const part of cookie.split(";")) {
      const pair = part.trim();
      if (pair.startsWith(start)) return pair.slice(start.length) || undefined;
    }
    return undefined;
  }

  /**
   * Throws FORBIDDEN unless a page of this server sent the request. A method that changes something also needs a JSON
   * content type and the console's own header.
   */
  requireOwnPage({ method, headers }: Asked): void {
    if (!this.#isSameOrigin(headers)) {
      throw new AppError("FORBIDDEN", "A session is accepted only from pages of this server.");
    }
    if (method === "GET" || method === "HEAD") return;
    if (headers[ownHeader] !== "1") {
      throw new AppError("FORBIDDEN", `A change with a session requires the header ${ownHeader}: 1.`);
    }
    if (!/^application\/json *(;|$)/i.test(headers["content-type"] ?? "")) {
      throw new AppError("UNSUPPORTED_MEDIA_TYPE", "A change with a session requires Content-Type: application/json.");
    }
  }

  /** True for requests of a page: the response must not make the browser ask for a password. */
  isFromPage(headers: IncomingHttpHeaders): boolean {
    if (headers.authorization !== undefined) return false;
    const shown = headers[ownHeader] !== undefined || headers["sec-fetch-site"] === "same-origin";
    return shown || this.sessionOf(headers) !== undefined;
  }

  /** The Set-Cookie header of a new session. */
  cookie(value: string): string {
    return this.#cookie(value, longestSeconds);
  }

  /** The Set-Cookie header that removes the cookie. */
  noCookie(): string {
    return this.#cookie("", 0);
  }

  #cookie(value: string, seconds: number): string {
    const secure = this.#options.secure ? "; Secure" : "";
    return `${this.#name()}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  }

  #name(): string {
    return `millrace_session_${this.#options.port()}`;
  }

  /**
   * Browsers send Sec-Fetch-Site over https and on loopback. Over plain http to another host they send Origin, and a
   * GET has neither: then the console's own header proves the origin.
   */
  #isSameOrigin(headers: IncomingHttpHeaders): boolean {
    const site = headers["sec-fetch-site"];
    if (site !== undefined) return site === "same-origin";
    const { origin, host } = headers;
    if (origin === undefined) return headers[ownHeader] === "1";
    return origin === this.#publicOrigin || origin === `${this.#options.tls ? "https" : "http"}://${host}`;
  }
}
