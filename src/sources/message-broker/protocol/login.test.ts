/** Names and passwords that are not ASCII. */
import { expect, test } from "vitest";
import { LoginError } from "../failures.ts";
import { type Login, withSpellings } from "./login.ts";

const scram = (username: string, password: string): Login => ({ mechanism: "SCRAM-SHA-256", username, password });

/** The attempts against a broker that knows the password in this form, and whether it accepted one. */
async function tried(login: Login, stored: string): Promise<string[]> {
  const passwords: string[] = [];
  const open = async (one: Login) => {
    const password = "password" in one ? one.password : "";
    passwords.push(password);
    if (password !== stored) throw new LoginError("credentials");
  };
  await withSpellings(login, open).catch(() => passwords.push("refused"));
  return passwords;
}

/** The examples of RFC 4013, section 3. */
test.each([
  ["I\u00adX", "IX"],
  ["user", "user"],
  ["USER", "USER"],
  ["\u00aa", "a"],
  ["\u2168", "IX"],
])("%j is prepared as %j", async (text, prepared) => {
  expect(await tried(scram("u", text), prepared)).toEqual([prepared]);
});

test.each(["\u0007", "\u06271"])("%j, which may not be prepared, is used as it is written", async (text) => {
  expect(await tried(scram("u", text), text)).toEqual([text]);
});

test("a broker that stores passwords as they are written is logged in to, at once from the second time on", async () => {
  const login = scram("u", "\u2168");
  expect(await tried(login, "\u2168")).toEqual(["IX", "\u2168"]);
  expect(await tried(login, "\u2168")).toEqual(["\u2168"]);
});

test("a name is prepared too, and a wrong password is refused after both", async () => {
  const names: string[] = [];
  await withSpellings(scram("\u00aa", "p"), async (login) => names.push("username" in login ? login.username : ""));
  expect(names).toEqual(["a"]);
  expect(await tried(scram("u", "\u2168"), "other")).toEqual(["IX", "\u2168", "refused"]);
});

test("other mechanisms send what is written", async () => {
  expect(await tried({ mechanism: "PLAIN", username: "u", password: "\u2168" }, "\u2168")).toEqual(["\u2168"]);
});

test("a connection that only breaks is not taken for a wrong password", async () => {
  const open = async (login: Login) => {
    if ("password" in login && login.password === "IX") throw new Error("the connection was closed");
    throw new LoginError("credentials");
  };
  await expect(withSpellings(scram("u", "\u2168"), open)).rejects.toThrow("the connection was closed");
});
