/** Numbers that callers write as text. */
import { z } from "zod";

/** A number of this schema, or its text in decimal digits: `Number` also reads `0x10`, `1e2` and ` 5`. */
export function numberText(schema: z.ZodNumber) {
  return z.preprocess((value, context) => {
    if (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
    if (typeof value === "number") return value;
    context.addIssue({ code: "custom", message: "must be a number in decimal digits, such as 100" });
    return z.NEVER;
  }, schema);
}
