/** The engine host's end of statements about users, roles and grants, which the control plane applies. */
import type { AccessChange } from "../../clickhouse/access-change.ts";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import type { FromHost, ToHost } from "./messages.ts";

/** Longer than the control plane takes to apply a statement and to take the engine out of service. */
const answerTimeoutMs = 30_000;

type Answer = Extract<ToHost, { readonly type: "accessChanged" }>;

export class AccessChanges {
  readonly #send: (message: FromHost) => void;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #ids = 0;

  constructor(send: (message: FromHost) => void) {
    this.#send = send;
  }

  /**
   * Resolves when the change is stored, and statements that arrive from now on have the new rights. Rejects with the
   * exception for the client.
   */
  async apply(change: AccessChange): Promise<void> {
    this.#ids += 1;
    const id = this.#ids;
    const { error } = await new Promise<Answer>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(clickHouseException("TIMEOUT_EXCEEDED", "The statement was not confirmed in time; it may take effect."));
      }, answerTimeoutMs);
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(answer);
      });
      this.#send({ type: "access", id, change });
    });
    if (error !== undefined) throw new ClickHouseException(error.code, error.codeName, error.message);
  }

  /** Handles an answer of the control plane. */
  onAnswer(answer: Answer): void {
    this.#waiting.get(answer.id)?.(answer);
  }
}
