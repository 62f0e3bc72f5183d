import { expect, test } from "vitest";
import { BrowserRequests } from "./browser.ts";

const options = { port: () => 8150, secure: false, tls: false, publicUrl: undefined };
const change = { "x-millrace-console": "1", "content-type": "application/json" };

test("with TLS, here or at a proxy, the cookie is not sent without it", () => {
  const secure = new BrowserRequests({ ...options, secure: true });
  expect(secure.cookie("v")).toMatch(/; Secure$/);
  expect(secure.noCookie()).toMatch(/^millrace_session_8150=; .*Max-Age=0.*; Secure$/);
  expect(new BrowserRequests(options).cookie("v")).not.toContain("Secure");
});

test("the origin of a page is the one in the Host header with this server's scheme, or the public one", () => {
  const behind = new BrowserRequests({ ...options, publicUrl: "https://millrace.example/base" });
  const withTls = new BrowserRequests({ ...options, tls: true });
  const from = (browser: BrowserRequests, origin: string) => () =>
    browser.requireOwnPage({ method: "POST", headers: { ...change, host: "10.0.0.5:8150", origin } });
  expect(from(behind, "https://millrace.example")).not.toThrow();
  expect(from(behind, "http://10.0.0.5:8150")).not.toThrow();
  expect(from(behind, "http://millrace.example")).toThrow("only from pages of this server");
  expect(from(withTls, "https://10.0.0.5:8150")).not.toThrow();
  expect(from(withTls, "http://10.0.0.5:8150")).toThrow("only from pages of this server");
});
