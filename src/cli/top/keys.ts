/** The keys of `millrace top`. */
import { sortKeys, type TopSortKey } from "./view.ts";

const arrows: Readonly<Record<string, string>> = { "\u001b[A": "k", "\u001bOA": "k", "\u001b[B": "j", "\u001bOB": "j" };

/** What was typed. */
export class Keys {
  ended = false;
  typing = false;
  filter = "";
  /** Whether the selected pipe is shown alone. */
  detail = false;
  /** Lines that the selection has to move since the last look at it. */
  #moves = 0;
  #sort = 0;
  #wake = () => {};

  get sort(): TopSortKey {
    return sortKeys[this.#sort % sortKeys.length] ?? "lag";
  }

  /** Resolves at the next key. */
  pressed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Lines down, negative for up; each is told once. */
  moves(): number {
    const moves = this.#moves;
    this.#moves = 0;
    return moves;
  }

  take = (chunk: Buffer): void => {
    const text = chunk.toString("utf8");
    for (const key of text in arrows ? [arrows[text] as string] : text) this.#press(key);
    this.#wake();
  };

  #press(key: string): void {
    if (key === "\u0003") this.ended = true;
    else if (this.typing) this.#type(key);
    else if (key === "q") this.ended = true;
    else if (key === "\r" || key === "\n") this.detail = !this.detail;
    else if (key === "\u001b") this.detail = false;
    else if (key === "s") this.#sort += 1;
    else if (key === "/") this.typing = true;
    else if (key === "j") this.#moves += 1;
    else if (key === "k") this.#moves -= 1;
  }

  #type(key: string): void {
    if (key === "\r" || key === "\u001b") this.typing = false;
    else if (key === "\u007f") this.filter = this.filter.slice(0, -1);
    else if (key >= " ") this.filter += key;
  }
}
