import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AdmittedCredentials, type Principal } from "./principals.ts";

let revision: number;
let asked: number;
let credentials: AdmittedCredentials;
const principal: Principal = { organizationId: "o", role: "admin", credentialId: "k", expiresAt: 1_030_000 };

beforeEach(() => {
  vi.useFakeTimers({ now: 1_020_000, toFake: ["Date"] });
  revision = 0;
  asked = 0;
  credentials = new AdmittedCredentials(() => revision);
});
afterEach(() => void vi.useRealTimers());

async function authenticate(): Promise<Principal> {
  asked += 1;
  return principal;
}

const of = (value: string, address = "::1", kind: "basic" | "bearer" = "basic") =>
  credentials.of(kind, value, address, authenticate);

test("who was admitted is known without a promise", async () => {
  expect(await of("a")).toBe(principal);
  expect(of("a")).toBe(principal);
  expect(asked).toBe(1);
});

test.each([
  ["another value", () => of("b")],
  ["the same value under another scheme", () => of("a", "::1", "bearer")],
  ["another address", () => of("a", "::2")],
  [
    "a credential or session changed",
    () => {
      revision += 1;
      return of("a");
    },
  ],
  [
    "another minute",
    () => {
      vi.setSystemTime(1_080_000);
      return of("a");
    },
  ],
  [
    "the credential has expired",
    () => {
      vi.setSystemTime(1_030_000);
      return of("a");
    },
  ],
])("%s is authenticated anew", async (_case, again) => {
  await of("a");
  await again();
  expect(asked).toBe(2);
});

test("a change during the authentication is not missed", async () => {
  const pending = of("a");
  revision += 1;
  await pending;
  await of("a");
  expect(asked).toBe(2);
});

test("a refusal is not remembered", async () => {
  const refuse = () => Promise.reject(new Error("no"));
  await expect(credentials.of("basic", "a", "::1", refuse)).rejects.toThrow("no");
  expect(await of("a")).toBe(principal);
});
