import { expect, test } from "vitest";
import { outcomeOf } from "./outcome.ts";

const of = (counters: Record<string, number>) =>
  outcomeOf({ counters, errorTable: "t_pipes_error", readsObjects: true });

test("everything loaded: no sentence", () => {
  expect(of({ filesLoaded: 2, fetchedRows: 10, sentRows: 10 })).toEqual({ state: "Completed", reason: null });
});

test("a part loaded: what is missing is said, and where", () => {
  expect(of({ filesLoaded: 2, filesFailed: 1, fetchedRows: 12, sentRows: 10, refusedRows: 2, errors: 3 })).toEqual({
    state: "Completed",
    reason: "1 of 3 objects could not be read and 2 of 12 rows were refused; see t_pipes_error.",
  });
});

test("nothing loaded of what came in: Failed", () => {
  expect(of({ filesFailed: 3, errors: 3 })).toEqual({
    state: "Failed",
    reason: "Nothing was loaded: 3 of 3 objects could not be read; see t_pipes_error.",
  });
  expect(of({ filesLoaded: 1, fetchedRows: 5, refusedRows: 5, errors: 5 }).state).toBe("Failed");
});

test("what a worker knows of the reasons is said, in one line of bounded length", () => {
  const reason = (refusal: string) =>
    outcomeOf({ counters: { filesFailed: 1, errors: 1 }, errorTable: "t_pipes_error", readsObjects: true, refusal })
      .reason;
  const sentence = "Nothing was loaded: 1 of 1 objects could not be read; see t_pipes_error. A reason: ";
  expect(reason("The object has\n no header.")).toBe(`${sentence}The object has no header.`);
  expect(reason("\u{1F40C}".repeat(1000))).toBe(`${sentence}${"\u{1F40C}".repeat(300)}`);
});

test("nothing came in: that is said", () => {
  expect(of({})).toEqual({ state: "Completed", reason: "No object matches the pattern." });
  expect(outcomeOf({ counters: {}, errorTable: undefined, readsObjects: false })).toEqual({
    state: "Completed",
    reason: null,
  });
});
