/** Applies an operation's schemas. One error lists every issue with its path. */
import type { z } from "zod";
import { AppError, type Issue } from "../lib/errors.ts";

export function validate(schema: z.ZodType, value: unknown, where: "path" | "query" | "body"): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.flatMap(toIssues);
  const summary = issues
    .slice(0, 5)
    .map((issue) => (issue.path === "" ? issue.message : `${issue.path}: ${issue.message}`))
    .join("; ");
  throw new AppError("BAD_REQUEST", `Invalid request ${where}: ${summary}`, { issues });
}

function toIssues(issue: z.core.$ZodIssue): Issue[] {
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: path === "" ? key : `${path}.${key}`,
      message: "is not a known field",
    }));
  }
  return [{ path, message: issue.message }];
}
