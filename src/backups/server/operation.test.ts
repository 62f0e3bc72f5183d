import { expect, test } from "vitest";
import { withoutKeys } from "./operation.ts";

test("a message that repeats the statement ends before the secret key, whatever its characters", () => {
  const echoed = "Syntax error at 9: BACKUP DATABASE a TO S3('https://x/y', 'id', 'se\\'cret') SETTINGS id = 'a'";
  expect(withoutKeys(echoed)).toBe("Syntax error at 9: BACKUP DATABASE a TO S3('https://x/y', 'id', '[HIDDEN]'");
});

test.each(["Code: 599. Backup S3('https://x/y', 'id', '[HIDDEN]') not found.", "Code: 497. Not enough privileges"])(
  "a message without the key is whole: %s",
  (message) => {
    expect(withoutKeys(message)).toBe(message);
  },
);
