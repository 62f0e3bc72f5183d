import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { InlineSelect, Select } from "./select.tsx";

test("a value that is not offered, as that of something deleted, is shown and not taken for the first option", () => {
  const props = { label: "Which", value: "deleted", options: ["", "first"], onChange: () => {} };
  for (const List of [Select, InlineSelect] as const) {
    expect(renderToStaticMarkup(createElement(List as typeof Select, props))).toContain(
      '<option value="deleted" selected="">deleted<',
    );
    expect(
      renderToStaticMarkup(createElement(List as typeof Select, { ...props, value: "first" })).match(/<option/g),
    ).toHaveLength(2);
  }
});
