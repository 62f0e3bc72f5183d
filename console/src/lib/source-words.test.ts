import { expect, test } from "vitest";
import { ApiError } from "../api/error.ts";
import { inWords } from "./format.ts";
import { inLabels, labelAt } from "./source-words.ts";

test.each([
  ["source.relationalDb.port", "Port"],
  ["source.relationalDb.credentials", "User or Password"],
  ["source.relationalDb.tableMappings.0.sourceTable", "Tables"],
  ["source.objectStorage.accessKey.secretKey", "Secret key"],
  ["destination.columns", "Columns"],
  ["settings.0", "Settings"],
])("%s is called %s", (path, label) => expect(labelAt(path)).toBe(label));

test("a sentence of the server has the labels of the forms", () => {
  const told = "the source fails: source.relationalDb.port: db:1 refuses the connection. See source.none.x";
  expect(inLabels(told)).toBe("the source fails: Port: db:1 refuses the connection. See X");
});

test("a sentence has the words of names where the labels are not at hand", () => {
  expect(inWords("it fails: source.objectStorage.accessKey.secretKey: wrong")).toBe("it fails: Secret key: wrong");
});

test("an error names a member by its words", () => {
  const issues = [{ path: "source.relationalDb.port", message: "is closed" }];
  const { message } = new ApiError(400, { error: "BAD_REQUEST: source.relationalDb.port: is closed", issues });
  expect(message).toBe("Port: is closed");
});
