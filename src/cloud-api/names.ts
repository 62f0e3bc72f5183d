/** Renames members and words between our names and theirs, as the data of the dialect says. */
import { AppError, type Issue } from "../lib/errors.ts";
import { isObject } from "../lib/json.ts";
import { type CloudForm, type Names, pathNames, renames, sentenceWords } from "./dialect.ts";
import { changedAt } from "./members.ts";

/** Every member that has two names. */
export const cloudNames: Names = Object.assign({}, ...Object.values(renames).flatMap((all) => all.map((r) => r.names)));

export function toTheirs(value: unknown, form: CloudForm): unknown {
  return (renames[form] ?? []).reduce(
    (made, { at, names }) =>
      changedAt(made, at, (object) => (isObject(object) ? renamed(object, (name) => names[name] ?? name) : object)),
    value,
  );
}

/** A member that is sent under our name is unknown: it would otherwise be possible to send it twice. */
export function toOurs(value: unknown, form: CloudForm): unknown {
  return (renames[form] ?? []).reduce((made, { at, names }) => {
    const ours = new Map(Object.entries(names).map(([own, their]) => [their, own]));
    return changedAt(made, at, (object) => {
      if (!isObject(object)) return object;
      refuseOurs(
        Object.keys(object).filter((name) => Object.hasOwn(names, name)),
        at,
      );
      return renamed(object, (name) => ours.get(name) ?? name);
    });
  }, value);
}

function renamed(object: object, nameOf: (name: string) => string): object {
  return Object.fromEntries(Object.entries(object).map(([name, member]) => [nameOf(name), member]));
}

function refuseOurs(names: readonly string[], at: string): void {
  if (names.length === 0) return;
  const issues = names.map((name) => ({ path: at === "" ? name : `${at}.${name}`, message: "is not a known field" }));
  const summary = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new AppError("BAD_REQUEST", `Invalid request body: ${summary}`, { issues });
}

const ownWords = new RegExp(`\\b(${Object.keys(cloudNames).join("|")})\\b`, "g");

/** A sentence or path for clients of the dialect. A user's own name that is one of our words is changed as well. */
export function sentenceInTheirs(text: string): string {
  const words = text.replaceAll(ownWords, (word) => cloudNames[word] as string);
  return sentenceWords.reduce((made, [ours, theirs]) => made.replaceAll(ours, theirs), words);
}

export function errorInTheirs(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const issues = error.issues?.map(
    (issue): Issue => ({ ...issue, path: sentenceInTheirs(issue.path), message: sentenceInTheirs(issue.message) }),
  );
  const { cause, engine } = error;
  return new AppError(error.code, sentenceInTheirs(error.message), {
    cause,
    ...(issues === undefined ? {} : { issues }),
    ...(engine === undefined ? {} : { engine }),
  });
}

/** A path of ours as theirs. */
export function pathInTheirs(path: string): string {
  const names: Names = pathNames;
  return path
    .split("/")
    .map((segment) => names[segment] ?? segment)
    .join("/");
}
