/** Runs at the same time that create the same object: one stays, and nobody is told of success wrongly. */
import { describe, expect, test } from "vitest";
import { CliError } from "../errors.ts";
import type { WantedObject } from "./files.ts";
import { createOnce, requireSame } from "./twins.ts";

const object = (id: string, createdAt = "2026-01-01T00:00:00.000Z") => ({ id, createdAt });
const older = object("z", "2025-12-31T00:00:00.000Z");

describe("the object that stays", () => {
  test("is the older one for both runs, and of the same instant the one with the smaller id", async () => {
    const all = [object("b"), object("a")];
    for (const own of all) {
      expect(
        await createOnce(
          async () => own,
          async () => all,
        ),
      ).toEqual({ kept: object("a"), own });
      expect(
        await createOnce(
          async () => own,
          async () => [own, older],
        ),
      ).toEqual({ kept: older, own });
    }
  });

  test("is the other one when this run was refused, and its own when nobody sees another", async () => {
    const refused = async () => Promise.reject(new Error("the table is taken"));
    expect(await createOnce(refused, async () => [older])).toEqual({ kept: older, own: undefined });
    expect(
      await createOnce(
        async () => older,
        async () => [],
      ),
    ).toEqual({ kept: older, own: older });
  });

  test("does not exist when this run was refused for another reason: the refusal is thrown", async () => {
    const refused = async () => Promise.reject(new Error("the source is wrong"));
    await expect(createOnce(refused, async () => [])).rejects.toThrow("the source is wrong");
    await expect(createOnce(refused, async () => Promise.reject(new Error("gone")))).rejects.toThrow("source is wrong");
  });
});

test("an object that differs is a conflict, which names members and no values", () => {
  const wanted = {
    spec: { source: { objectStorage: { accessKey: { secretKey: "hidden" } } }, settings: { a: 1 } },
  } as unknown;
  const refusal = (twin: object) => {
    try {
      requireSame(wanted as WantedObject, twin as Record<string, unknown>);
    } catch (error) {
      return error as CliError;
    }
    return undefined;
  };
  expect(refusal({ source: {}, settings: { a: 1, b: 2 } })).toBeUndefined();
  const error = refusal({ source: {}, settings: { a: 2 } });
  expect(error).toBeInstanceOf(CliError);
  expect(error).toMatchObject({
    exitCode: 7,
    code: "CONFLICT",
    issues: [{ path: "settings.a", message: "is different" }],
  });
});
