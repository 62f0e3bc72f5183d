import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { loopbackCertificate } from "../../../harness/network/loopback-certificate.ts";
import { certificateView, daysLeft } from "./certificates.ts";

const certificate = new X509Certificate(loopbackCertificate.cert);
const at = (time: string) => Date.parse(time);

test("a certificate has its names, its times, and why it is not renewed", () => {
  const now = at("2026-11-23T00:00:00Z");
  const shown = {
    subject: "CN=loopback",
    names: ["IP Address:127.0.0.1"],
    validFrom: "2026-11-21T16:29:06.000Z",
    validTo: "2126-10-28T16:29:06.000Z",
    daysLeft: 36_498,
  };
  expect(certificateView({ certificate, problem: undefined }, now)).toEqual(shown);
  expect(certificateView({ certificate, problem: "no" }, now)).toEqual({ ...shown, problem: "no" });
});

test.each([
  ["2126-10-27T16:29:06Z", 1],
  ["2126-10-27T16:29:07Z", 0],
  ["2126-10-28T16:29:07Z", -1],
])("whole days are left at %s: %i", (time, days) => {
  expect(daysLeft({ certificate }, at(time))).toBe(days);
});
