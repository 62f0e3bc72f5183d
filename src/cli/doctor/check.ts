/** One line of `millrace doctor`. */
export type Check = {
  readonly check: string;
  readonly result: "ok" | "warn" | "fail";
  readonly detail: string;
  readonly remedy?: string;
};

/** A check without a remedy when all is well. */
export function judged(check: string, result: Check["result"], detail: string, remedy: string): Check {
  return result === "ok" ? { check, result, detail } : { check, result, detail, remedy };
}
