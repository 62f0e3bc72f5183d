import { expect, test } from "vitest";
import { credentialState, expiresSoon, shownCredentials } from "./access-search.ts";
import { browserText } from "./sessions-tab.tsx";

const now = Date.parse("2026-11-22T12:00:00Z");
const key = (name: string, state: string, expireAt: string | null = null) => ({ id: name, name, state, expireAt });

test("an expired key is not called enabled", () => {
  expect(credentialState(key("a", "enabled", "2026-11-22T11:59:59Z"), now)).toBe("expired");
  expect(credentialState(key("a", "enabled", "2026-11-22T12:00:01Z"), now)).toBe("enabled");
  expect(credentialState(key("a", "disabled", "2026-11-01T00:00:00Z"), now)).toBe("disabled");
});

test("keys that end within 14 days are near their end", () => {
  expect(expiresSoon({ expireAt: "2026-12-05T12:00:00Z" }, now)).toBe(true);
  expect(expiresSoon({ expireAt: "2026-12-07T12:00:00Z" }, now)).toBe(false);
  expect(expiresSoon({ expireAt: null }, now)).toBe(false);
});

test("filters leave what matches by name and by what the state means", () => {
  const all = [key("night", "enabled"), key("day", "disabled"), key("old", "enabled", "2026-01-01T00:00:00Z")];
  expect(shownCredentials(all, { state: "enabled" }, now).map(({ name }) => name)).toEqual(["night"]);
  expect(shownCredentials(all, { q: "DA" }, now).map(({ name }) => name)).toEqual(["day"]);
});

test("browsers are told by name, version and system", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
  expect(browserText(chrome)).toBe("Chrome 156 on Linux");
  expect(browserText(`${chrome} Edg/155.0`)).toBe("Edge 155 on Linux");
  expect(browserText("Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0")).toBe(
    "Firefox 140 on Windows",
  );
  expect(browserText("curl/8")).toBe("curl/8");
});
