/** Looks at the topics of several pipes with one request: of those that ask in the same turn of the event loop. */
import type { Metadata } from "./requests.ts";

type Asked = {
  readonly names: readonly string[];
  readonly resolve: (found: Metadata) => void;
  readonly reject: (error: unknown) => void;
};

/** Topics of one request: the broker's answer must not hold up the event loop. */
const mostNames = 200;

export class MergedMetadata {
  readonly #send: (names: readonly string[]) => Promise<Metadata>;
  #waiting: Asked[] = [];

  constructor(send: (names: readonly string[]) => Promise<Metadata>) {
    this.#send = send;
  }

  /** What a request for these topics alone returns, or the error with which it fails. */
  ask(names: readonly string[]): Promise<Metadata> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ names, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.#sendWaiting());
    });
  }

  #sendWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    let group: Asked[] = [];
    let names = new Set<string>();
    for (const asked of waiting) {
      if (group.length > 0 && names.size + asked.names.length > mostNames) {
        void this.#sendGroup(group, [...names]);
        [group, names] = [[], new Set()];
      }
      group.push(asked);
      for (const name of asked.names) names.add(name);
    }
    void this.#sendGroup(group, [...names]);
  }

  async #sendGroup(group: readonly Asked[], names: readonly string[]): Promise<void> {
    try {
      const { topics, ...cluster } = await this.#send(names);
      const found = new Map(topics.map((topic) => [topic.name, topic]));
      for (const asked of group) {
        asked.resolve({ ...cluster, topics: asked.names.flatMap((name) => found.get(name) ?? []) });
      }
    } catch (error) {
      // A topic that the broker refuses is not the fault of those that ask for others.
      const isAlone = group.length === 1;
      for (const asked of group) {
        if (isAlone) asked.reject(error);
        else this.#send(asked.names).then(asked.resolve, asked.reject);
      }
    }
  }
}
