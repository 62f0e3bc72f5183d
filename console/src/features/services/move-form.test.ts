import { expect, test } from "vitest";
import { emptyMove, moveBodyOf, otherIssues, problemsAt } from "./move-form.ts";

test("a connection has its URLs by line, and nothing of what is empty", () => {
  const form = { ...emptyMove, urls: " https://a:8443\n\nhttps://b:8443 ", username: " owner ", password: " p " };
  expect(moveBodyOf(form)).toEqual({
    connection: { urls: ["https://a:8443", "https://b:8443"], username: "owner", password: " p " },
  });
  const more = moveBodyOf({ ...form, cluster: "main", caCertificate: "-----BEGIN" });
  expect(more.connection).toMatchObject({ cluster: "main", tls: { caCertificate: "-----BEGIN" } });
});

test("an external service as the target sends no connection", () => {
  expect(moveBodyOf({ ...emptyMove, target: "id", urls: "https://a", password: "p" })).toEqual({
    targetServiceId: "id",
  });
});

test("every issue is at its field or among the others", () => {
  const issues = [
    { path: "connection.urls[0]", message: "nothing listens" },
    { path: "connection.urls.1", message: "must be a URL" },
    { path: "connection.username", message: "lacks rights" },
    { path: "default.log", message: "cannot be moved" },
  ];
  expect(problemsAt("urls", issues)).toBe("nothing listens; must be a URL");
  expect(problemsAt("username", issues)).toBe("lacks rights");
  expect(problemsAt("password", issues)).toBeUndefined();
  expect(otherIssues(issues)).toEqual([issues[3]]);
});
