import { expect, test } from "vitest";
import { read } from "../../scripts/house.ts";

const known = new Set([...read("docs/metrics.md").matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name));
const used = (text: string) =>
  new Set([...text.matchAll(/\b(?:Service|Pipes|Source|Backup|Control|Loop|Certificate)_\w+/g)].map(String));

test.each(["ops/prometheus/alerts.yml", "ops/grafana/millrace.json"])("%s names only metrics that exist", (file) => {
  const names = [...used(read(file))];
  expect(names.length).toBeGreaterThan(8);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test("every alert rule has a severity, a summary and what to do", () => {
  const rules = read("ops/prometheus/alerts.yml").split("- alert: ").slice(1);
  expect(rules.length).toBeGreaterThan(8);
  for (const rule of rules) {
    for (const part of ["severity: ", "summary: ", "action: "]) expect(rule, rule.split("\n")[0]).toContain(part);
  }
});
