import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { choices, type SourceField } from "../../../src/sources/contract/fields.ts";
import { SourceInput } from "./source-input.tsx";

test("a member has the input that its kind says, and a value that is not offered stays chosen", () => {
  const shown = (input: NonNullable<SourceField["input"]>, value: string) => {
    const field = { path: "a", label: "A", input, options: choices("PLAIN") };
    return renderToStaticMarkup(createElement(SourceInput, { field, value, error: undefined, onChange: () => {} }));
  };
  expect(shown("switch", "true")).toMatch(/type="checkbox".*checked/);
  expect(shown("area", "a\nb")).toContain("<textarea");
  expect(shown("choice", "PLAIN").match(/<option/g)).toHaveLength(1);
  expect(shown("choice", "IAM_USER")).toContain('<option value="IAM_USER" selected="">IAM_USER</option>');
  expect(shown("choice", "")).toContain('<option value="" selected="">Default</option>');
});
