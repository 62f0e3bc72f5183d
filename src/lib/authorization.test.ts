import { expect, test } from "vitest";
import { parseBasicCredentials } from "./authorization.ts";

const encode = (text: string) => Buffer.from(text).toString("base64");

test.each([
  ["a name and a password", `Basic ${encode("ann:secret")}`, "ann", "secret"],
  ["a password with colons", `Basic ${encode("ann:a:b")}`, "ann", "a:b"],
  ["an empty password", `Basic ${encode("ann:")}`, "ann", ""],
  ["no colon", `Basic ${encode("ann")}`, "ann", undefined],
  ["nothing at all", "Basic ", "", undefined],
  ["another case and more spaces", `bAsIc   ${encode("ann:é")}  `, "ann", "é"],
  ["the alphabet of URLs", `Basic ${Buffer.from("ann:ÿÿÿ>>>").toString("base64url")}`, "ann", "ÿÿÿ>>>"],
])("%s", (_name, header, user, password) => {
  expect(parseBasicCredentials(header)).toEqual({ user, password });
});

test.each([undefined, "", "Bearer abc", "Basic", "Basic a b", "Basic ä", "Basic YW5uOg===", "xBasic YW5uOg=="])(
  "%s is not Basic",
  (header) => {
    expect(parseBasicCredentials(header)).toBeUndefined();
  },
);
