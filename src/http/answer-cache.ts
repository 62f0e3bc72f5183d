/**
 * Answers of operations that are made of stored data alone (`Operation.storedOnly`), kept as JSON until the next write to
 * the store, whatever it wrote. What needs anything else (gauges of workers, memory, the clock) never comes here.
 */
import { createHash } from "node:crypto";

/** `tag` is the opaque part of the entity tag, with its quotes. */
export type KeptAnswer = { readonly json: string; readonly tag: string };

/** Characters of JSON kept at a time; beyond it all answers are dropped. */
const maxKept = 8 * 2 ** 20;

export class AnswerCache {
  readonly #revision: () => number;
  readonly #answers = new Map<string, KeptAnswer>();
  /** The revision that the kept answers are of. */
  #keptAt = -1;
  #size = 0;

  /** `revision` names the state of the store: any write raises it before the write's promise resolves. */
  constructor(revision: () => number) {
    this.#revision = revision;
  }

  /** The answer to what `key` names, made by `make` if it is not known. What throws is not kept. */
  async of(key: string, make: () => Promise<unknown>): Promise<KeptAnswer> {
    const revision = this.#revision();
    if (revision !== this.#keptAt) this.#forget(revision);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = keptAnswer(JSON.stringify(await make()));
    // After a write meanwhile, some of the answer may have been read before it.
    if (this.#revision() === revision) this.#keep(key, answer);
    return answer;
  }

  #keep(key: string, answer: KeptAnswer): void {
    const size = key.length + answer.json.length;
    if (size > maxKept) return;
    if (this.#size + size > maxKept) this.#forget(this.#keptAt);
    this.#answers.set(key, answer);
    this.#size += size;
  }

  #forget(revision: number): void {
    this.#answers.clear();
    this.#size = 0;
    this.#keptAt = revision;
  }
}

/** The tag is a digest of the answer: it outlives restarts and writes that change other things. */
function keptAnswer(json: string): KeptAnswer {
  return { json, tag: `"${createHash("sha256").update(json).digest("base64url").slice(0, 22)}"` };
}

/** The entity tags that an `If-None-Match` header names, for weak comparison. */
export function namedTags(header: string | undefined): string[] {
  return (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
}
