/**
 * Finding which part of the caller's expressions the engine objects to. The engine names no position, so it is asked
 * for the types of the parts: the innermost one that has none is the place. Only a request that failed pays for this.
 */
import { AppError, badRequest } from "../lib/errors.ts";
import { yieldWhenLong } from "../lib/yield.ts";
import { Params } from "./columns/params.ts";
import { emitPart } from "./expression/emit.ts";
import { parsedExpression } from "./expression/parser.ts";
import { childrenOf, type Expression, startOffsetOf } from "./expression/syntax.ts";
import { FilterError } from "./filter/syntax.ts";
import { conditionTextsOf } from "./plan/conditions.ts";
import { type PlanInput, pathOf } from "./plan/plan.ts";

/** The engine is asked at most this often for one failed request. */
const maxQuestions = 100;

type Input = Pick<PlanInput, "series" | "schema" | "typesOf">;
type Text = { readonly path: string; readonly text: string; readonly condition: boolean };

/**
 * The error with the path and the position of the part that has no type. When every part has one, the mistake lies in
 * the values: then there is a path only if there is but one expression.
 */
export async function locateError(error: unknown, input: Input): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== "BAD_REQUEST" || error.issues !== undefined) return error;
  const asker = new Asker(input);
  const texts = textsOf(input);
  for (const { path, text, condition } of texts) {
    await yieldWhenLong();
    const root = parsedExpression(text);
    // A path or a metric's name.
    if (root === undefined) continue;
    const found = await asker.innermost(root);
    if (found !== undefined) {
      const { message, node } = found;
      const position = startOffsetOf(node);
      return new AppError("BAD_REQUEST", `${path}: ${message} (at position ${position})`, {
        issues: [{ path, message, position }],
        cause: error,
      });
    }
    if (condition && (await asker.failure(root, (sql) => `(${sql}) != 0`)) !== undefined) {
      return badRequest(path, "is not a condition: it must be true or false, or a number");
    }
  }
  const [only, ...others] = texts;
  return only === undefined || others.length > 0 ? error : badRequest(only.path, error.message);
}

function textsOf({ series }: Input): Text[] {
  const wheres = series
    .flatMap(conditionTextsOf)
    .filter(({ language }) => language === "sql")
    .map(({ path, text }) => ({ path, text, condition: true }));
  const fields = series.map((one) => ({ path: pathOf(one, "field"), text: one.item.field ?? "", condition: false }));
  const groups = (series[0]?.item.groupBy ?? []).map((text, i) => {
    return { path: `series.0.groupBy.${i}`, text, condition: false };
  });
  return [...wheres, ...fields.filter(({ text }) => text !== ""), ...groups];
}

class Asker {
  readonly #input: Input;
  #questions = 0;

  constructor(input: Input) {
    this.#input = input;
  }

  /** The innermost part without a type and what the engine says of it; undefined when the whole has one. */
  async innermost(node: Expression): Promise<{ readonly node: Expression; readonly message: string } | undefined> {
    const message = await this.failure(node);
    if (message === undefined) return undefined;
    for (const part of childrenOf(node)) {
      // The body of a lambda has no meaning outside of it.
      const inner = part.kind === "lambda" ? undefined : await this.innermost(part);
      if (inner !== undefined) return inner;
    }
    return { node, message };
  }

  async failure(node: Expression, wrap = (sql: string) => sql): Promise<string | undefined> {
    this.#questions += 1;
    if (this.#questions > maxQuestions) return undefined;
    const { schema, typesOf } = this.#input;
    const params = new Params();
    await yieldWhenLong();
    try {
      await typesOf([wrap(emitPart(node, schema, params))], params);
      return undefined;
    } catch (error) {
      if (error instanceof AppError && error.code === "BAD_REQUEST") return error.message;
      if (error instanceof FilterError) return undefined;
      throw error;
    }
  }
}
