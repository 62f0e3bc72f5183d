import { expect, test } from "vitest";
import { activityWords, actorWords, objectWords } from "./activity-words.ts";

test("requests are told in the past", () => {
  expect(activityWords("pipe_settings_update")).toBe("pipe settings updated");
  expect(activityWords("openapi_key_update")).toBe("key updated");
  expect(activityWords("service_awaken")).toBe("service wake requested");
  expect(activityWords("service_idle")).toBe("service idle");
});

test("an actor whose key is gone has words, and so has an object of two words", () => {
  expect(actorWords("system", undefined)).toBe("Millrace");
  expect(actorWords("api", undefined)).toBe("a deleted key");
  expect(objectWords("savedObject")).toBe("saved object");
});
