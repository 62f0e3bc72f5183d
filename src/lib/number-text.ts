/** Numbers that callers write as text. */
import { z } from "zod";
import { decimalOf } from "./decimal.ts";

/** A number of this schema, or its text in decimal digits. */
export function numberText(schema: z.ZodNumber) {
  return z.preprocess((value, context) => {
    const number = typeof value === "string" ? decimalOf(value) : value;
    if (typeof number === "number") return number;
    context.addIssue({ code: "custom", message: "must be a number in decimal digits, such as 100" });
    return z.NEVER;
  }, schema);
}
