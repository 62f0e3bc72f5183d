/**
 * Caches responses, as JSON, until what they depend on changes: the whole store (`Operation.storedOnly`), or services,
 * pipes and their samples (`Operation.sampled`). Responses that depend on anything else (worker gauges, memory, the
 * clock) are never cached.
 */
import { createHash } from "node:crypto";
import type { Principal } from "../caller/principals.ts";

/** `bytes` is the length of the JSON in UTF-8; `tag` the opaque part of the entity tag, with its quotes. */
export type KeptAnswer = { readonly json: string; readonly bytes: number; readonly tag: string };

export type Revision = number;

/** What a cached response depends on besides the store. */
type Caller = Pick<Principal, "organizationId" | "role">;

/** Maximum total of cached characters; above it all responses are dropped. */
const maxKept = 8 * 2 ** 20;

export class AnswerCache {
  readonly #revision: () => Revision;
  /** By URL. One joined with the caller would be hashed anew at each request. */
  readonly #answers = new Map<string, { readonly caller: Caller; readonly answer: KeptAnswer }[]>();
  /** The revision of the cached responses. */
  #keptAt: Revision = -1;
  #size = 0;

  /** `revision` identifies the state of what responses depend on; it changes before a write's promise resolves. */
  constructor(revision: () => Revision) {
    this.#revision = revision;
  }

  /** The cached response. The URL was validated when it was made. */
  kept({ organizationId, role }: Caller, url: string): KeptAnswer | undefined {
    if (this.#revision() !== this.#keptAt) return undefined;
    const ofUrl = this.#answers.get(url);
    return ofUrl?.find(({ caller }) => caller.role === role && caller.organizationId === organizationId)?.answer;
  }

  /** The same, produced by `make` if it is not cached. Errors are not cached. */
  async of(caller: Caller, url: string, make: () => Promise<unknown>): Promise<KeptAnswer> {
    const known = this.kept(caller, url);
    if (known !== undefined) return known;
    const revision = this.#revision();
    if (revision !== this.#keptAt) this.#forget(revision);
    const answer = keptAnswer(await make());
    // After a concurrent write, part of the response may have been read before it.
    if (this.#revision() === revision) this.#keep(caller, url, answer);
    return answer;
  }

  #keep({ organizationId, role }: Caller, url: string, answer: KeptAnswer): void {
    const size = url.length + answer.json.length;
    if (size > maxKept) return;
    if (this.#size + size > maxKept) this.#forget(this.#keptAt);
    this.#answers.set(url, [...(this.#answers.get(url) ?? []), { caller: { organizationId, role }, answer }]);
    this.#size += size;
  }

  #forget(revision: Revision): void {
    this.#answers.clear();
    this.#size = 0;
    this.#keptAt = revision;
  }
}

/**
 * The tag is a digest of the response: it survives restarts and unrelated writes. Before it stands the version of an
 * object that has one, for `If-Match`: other members, as counters and states, change without a change of the object.
 */
export function keptAnswer(result: unknown): KeptAnswer {
  const json = JSON.stringify(result);
  const digest = createHash("sha256").update(json).digest("base64url").slice(0, 22);
  const version = versionOf(result);
  const tag = version === undefined ? `"${digest}"` : `"${version}.${digest}"`;
  return { json, bytes: Buffer.byteLength(json), tag };
}

function versionOf(result: unknown): number | undefined {
  const { version, data } = (result ?? {}) as { version?: unknown; data?: { version?: unknown } };
  const found = version ?? data?.version;
  return typeof found === "number" ? found : undefined;
}

/** The entity tags of an `If-None-Match` header, for weak comparison. */
export function namedTags(header: string | undefined): string[] {
  if (header === undefined) return [];
  return header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
}
