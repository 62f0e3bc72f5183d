import { expect, test } from "vitest";
import { webhookBody, webhookForm } from "./webhook-form.ts";

const kept = { id: "i", name: "Incidents", service: "generic", version: 2, body: "{{title}}" } as never;
const url = "https://alerts.example.com/";

test("what is sealed is left out of a change unless it is replaced or removed", () => {
  const form = { ...webhookForm(kept), url: ` ${url} ` };
  const unchanged = { name: "Incidents", service: "generic", url, description: null, body: "{{title}}" };
  expect(webhookBody(form)).toEqual(unchanged);
  const changed = { ...form, headersDo: "replace", headers: "A: b: c\n\nD", queryParamsDo: "remove" } as const;
  expect(webhookBody(changed)).toEqual({ ...unchanged, headers: { A: "b: c", D: "" }, queryParams: {} });
});

test("a new webhook has what is typed", () => {
  const form = { ...webhookForm(), name: "n", url, queryParams: "key=a=b" };
  expect(webhookBody(form)).toMatchObject({ headers: {}, queryParams: { key: "a=b" }, body: null });
});

test("a webhook of Slack has no headers, parameters or body, also none of before", () => {
  const form = { ...webhookForm(kept), url, service: "slack" } as const;
  expect(webhookBody(form)).toMatchObject({ headers: {}, queryParams: {}, body: null });
});
