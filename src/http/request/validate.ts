/** Applies an operation's schemas. One error lists the issues with their paths. */
import type { z } from "zod";
import { AppError, type Issue } from "../../lib/errors.ts";
import { nearMatches } from "../../lib/near-matches.ts";

/** Without a limit, a body with many unknown members would get a response several times its size. */
const maxIssues = 100;
/** A longer name is nobody's slip of the pen. */
const maxNameLength = 100;
/** Paths and messages contain names that the caller chose. */
const maxTextLength = 500;

/** `elsewhere` names the operation that has a member which this body has not. */
export function validate(
  schema: z.ZodType,
  value: unknown,
  where: "path" | "query" | "body",
  elsewhere: (member: string) => string | undefined = () => undefined,
): unknown {
  const parsed = schema.safeParse(value, { error: (issue) => sentence(issue, elsewhere) });
  if (parsed.success) return parsed.data;
  throw invalid(firstCauses(parsed.error.issues).slice(0, maxIssues).flatMap(toIssues), where);
}

/** Text has a length as a list has: limits of a list say nothing true of a value of another type. */
function firstCauses(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  const placeOf = ({ path }: z.core.$ZodIssue) => JSON.stringify(path.map(String));
  const mistyped = new Set(issues.filter(({ code }) => code === "invalid_type").map(placeOf));
  return issues.filter((issue) => issue.code === "invalid_type" || !mistyped.has(placeOf(issue)));
}

/** Applies an operation's schema of query parameters. One that it does not have, or once only, is refused by name. */
export function validateQuery(schema: z.ZodObject | undefined, query: unknown): unknown {
  const shape: Readonly<Record<string, z.ZodType>> = schema?.shape ?? {};
  const issues = Object.entries(query as object).flatMap(([path, value]) => {
    if (!Object.hasOwn(shape, path)) return [{ path, message: "is not a known query parameter" }];
    const isRefused = Array.isArray(value) && shape[path]?.safeParse(value).error?.issues.some(isOfWhole);
    return isRefused ? [{ path, message: "is given more than once" }] : [];
  });
  if (issues.length > 0) throw invalid(issues, "query");
  return schema && validate(schema, query, "query");
}

function isOfWhole({ path }: z.core.$ZodIssue): boolean {
  return path.length === 0;
}

/** The issues of such an error. Throws every other error. */
export function issuesOf(error: unknown): { path: string; message: string }[] {
  if (!(error instanceof AppError) || error.issues === undefined) throw error;
  return error.issues.map(({ path, message }) => ({ path, message }));
}

/** BAD_REQUEST of a parameter of the query. */
export function refusedQuery(path: string, message: string): AppError {
  return invalid([{ path, message }], "query");
}

function invalid(all: readonly Issue[], where: string): AppError {
  const issues = all.slice(0, maxIssues).map(({ path, message }) => ({ path: cut(path), message: cut(message) }));
  const summary = issues
    .slice(0, 5)
    .map((issue) => (issue.path === "" ? issue.message : `${issue.path}: ${issue.message}`))
    .join("; ");
  return new AppError("BAD_REQUEST", `Invalid request ${where}: ${summary}`, { issues });
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}...`;
}

function toIssues(issue: z.core.$ZodIssue): Issue[] {
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    // As `sentence` wrote them.
    const messages = issue.message.split("\n");
    return issue.keys.slice(0, maxIssues).map((key, at) => ({
      path: path === "" ? key : `${path}.${key}`,
      message: messages[at] ?? "is not a known field",
    }));
  }
  return [{ path, message: issue.message }];
}

const nouns: Readonly<Record<string, string>> = {
  ...{ string: "text", number: "a number", int: "a whole number", boolean: "true or false" },
  ...{ object: "an object", record: "an object", array: "a list", null: "null" },
};

/** The message for a schema without one of its own. */
function sentence(issue: z.core.$ZodRawIssue, elsewhere: (member: string) => string | undefined): string | undefined {
  if (issue.code === "invalid_type") return tell(nouns[issue.expected] ?? issue.expected, issue.input);
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys((issue.inst as z.ZodObject | undefined)?.shape ?? {});
    return issue.keys
      .slice(0, maxIssues)
      .map((key) => unknownField(key, known, issue.path?.length ? undefined : elsewhere(key)))
      .join("\n");
  }
  if (issue.code !== "invalid_value") return undefined;
  const values = issue.values.map(String).join(", ");
  return tell(issue.values.length === 1 ? values : `one of ${values}`, issue.input, "");
}

function unknownField(name: string, known: readonly string[], place: string | undefined): string {
  if (place !== undefined) return `is a member of ${place}`;
  const [near] = name.length > maxNameLength ? [] : nearMatches(name, known);
  return `is not a known field${near === undefined ? "" : `; did you mean ${near}?`}`;
}

function tell(wanted: string, input: unknown, found = `, not ${nounOf(input)}`): string {
  return input === undefined ? `is required: ${wanted}` : `must be ${wanted}${found}`;
}

function nounOf(input: unknown): string {
  if (typeof input === "number") return `the number ${input}`;
  const kind = input === null ? "null" : Array.isArray(input) ? "array" : typeof input;
  return nouns[kind] ?? kind;
}
