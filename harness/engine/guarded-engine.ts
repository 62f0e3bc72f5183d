/**
 * A bare engine behind the guard: whatever the guard accepts is run, byte for byte, so that a hole shows in the result.
 */
import { text as bodyText } from "node:stream/consumers";
import { Guard } from "../../src/engine/sql/guard.ts";
import { guardQueryOf } from "../../src/engine/sql/judge.ts";
import { BareEngine } from "./bare-engine.ts";

export type Asking = {
  readonly params?: Readonly<Record<string, string>>;
  readonly settings?: Readonly<Record<string, string>>;
  readonly user?: "default" | "reader";
};

export class GuardedEngine implements AsyncDisposable {
  readonly bare: BareEngine;
  readonly guard: Guard;

  private constructor(bare: BareEngine) {
    this.bare = bare;
    this.guard = new Guard({ guardQuery: guardQueryOf(bare.client) });
  }

  static async start(): Promise<GuardedEngine> {
    return new GuardedEngine(await BareEngine.start());
  }

  /** Resolves to the answer of a statement (latin1); rejects with the guard's or the engine's error. */
  async run(statement: string, { params = {}, settings = {}, user = "default" }: Asking = {}): Promise<string> {
    const text = Buffer.from(statement, "latin1");
    const { expressions } = await this.guard.judge({
      text,
      complete: true,
      params: Object.entries(params),
      settings: Object.entries(settings),
      readonly: user === "reader",
      get: false,
    });
    const compute: Record<string, string> = expressions ? { input_format_values_interpret_expressions: "1" } : {};
    const answer = await this.bare
      .clientOf(user)
      .stream("", { body: text, params, settings: { ...settings, ...compute } });
    return await bodyText(answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bare[Symbol.asyncDispose]();
  }
}
