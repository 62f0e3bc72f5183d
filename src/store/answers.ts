/** What reads found, by question, for as long as nothing is written. */

type Level<Answer> = { answer: Answer | undefined; readonly next: Map<unknown, Level<Answer>> };

/** Questions remembered at a time; each holds the rows of one answer. */
const maxAnswers = 500;

export class Answers<Answer> {
  #root: Level<Answer> = { answer: undefined, next: new Map() };
  #size = 0;

  /** The answer to the statement with these parameters, found by `ask` if it is not known. What throws is not kept. */
  of(sql: string, params: readonly unknown[], ask: () => Answer): Answer {
    if (this.#size >= maxAnswers) this.forget();
    // One level per value: nothing is joined, so NULL, "", 1, 1n and "1" are different questions.
    let level = below(this.#root, sql);
    for (const param of params) level = below(level, param);
    if (level.answer === undefined) {
      level.answer = ask();
      this.#size += 1;
    }
    return level.answer;
  }

  forget(): void {
    if (this.#size === 0) return;
    this.#root = { answer: undefined, next: new Map() };
    this.#size = 0;
  }
}

function below<Answer>({ next }: Level<Answer>, value: unknown): Level<Answer> {
  let level = next.get(value);
  if (level === undefined) {
    level = { answer: undefined, next: new Map() };
    next.set(value, level);
  }
  return level;
}
