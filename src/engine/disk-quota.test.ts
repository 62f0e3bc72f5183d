import { expect, test } from "vitest";
import { DiskQuota, overQuota } from "./disk-quota.ts";

const gib = 2 ** 30;

test("a service without a limit, or of which nothing is known, has room", () => {
  expect(overQuota({ usedBytes: 9 * gib, limitBytes: undefined })).toBeUndefined();
  expect(overQuota({ usedBytes: undefined, limitBytes: gib })).toBeUndefined();
  expect(overQuota({ usedBytes: gib - 1, limitBytes: gib })).toBeUndefined();
});

test("the refusal names what is used, the limit and the member that sets it", () => {
  const quota = new DiskQuota({ usedBytes: 1.5 * gib, limitBytes: gib });
  expect(() => quota.requireRoom()).toThrow(
    expect.objectContaining({ code: 243, message: expect.stringMatching(/1\.50 GiB.*\(diskGb\) is 1 GiB/) }),
  );
  quota.limitBytes = 2 * gib;
  quota.requireRoom();
});
