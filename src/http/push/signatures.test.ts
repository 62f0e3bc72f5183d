/** Signed requests, as GitHub, Stripe and others send them: good ones, wrong ones, and those of another time. */
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import type { PushConfig } from "../../sources/push/declaration/kind.ts";
import { signatureCheck } from "./signatures.ts";

type Signature = NonNullable<PushConfig["signature"]>;

const secret = "It is a secret to everybody";
const body = '{"id":1}';
const now = 1_790_000_000_000;
const seconds = now / 1_000;
const mac = (text: string, encoding: "hex" | "base64" = "hex", key = secret) =>
  createHmac("sha256", key).update(text).digest(encoding);

/** "accepted", or the sentence of the refusal. The body arrives in two pieces. */
function judged(signature: Signature, headers: Record<string, string>): string {
  try {
    const check = signatureCheck(signature, headers, now);
    check.add(Buffer.from(body.slice(0, 3)));
    check.add(Buffer.from(body.slice(3)));
    check.end();
    return "accepted";
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "UNAUTHORIZED") throw error;
    return error.message;
  }
}

const unsigned = "The request is not signed as the pipe's source.push.signature says.";
const wrong = "The signature of the request does not fit its body and the secret.";
const old = (tolerance: number) => `The request was signed more than ${tolerance} s ago, or in the future.`;
const untimed = "The signed time is missing, or is not in UNIX seconds.";

const github: Signature = { scheme: "github", secret };
test.each([
  ["signed", { "x-hub-signature-256": `sha256=${mac(body)}` }, "accepted"],
  ["signed with another secret", { "x-hub-signature-256": `sha256=${mac(body, "hex", "other")}` }, wrong],
  ["another body", { "x-hub-signature-256": `sha256=${mac(`${body} `)}` }, wrong],
  ["a cut signature", { "x-hub-signature-256": `sha256=${mac(body).slice(0, 62)}` }, wrong],
  ["without a scheme", { "x-hub-signature-256": mac(body) }, unsigned],
  ["the weaker header of older hooks", { "x-hub-signature": `sha1=${mac(body)}` }, unsigned],
  ["not signed", {}, unsigned],
])("github: %s", (_, headers, answer) => {
  expect(judged(github, headers as Record<string, string>)).toBe(answer);
});

const stripe: Signature = { scheme: "stripe", secret };
const stripes = (time: number | string, ...signatures: string[]) => ({
  "stripe-signature": [`t=${time}`, ...signatures.map((one) => `v1=${one}`)].join(","),
});
test.each([
  ["signed", stripe, stripes(seconds, mac(`${seconds}.${body}`)), "accepted"],
  ["one of two secrets that are rolled", stripe, stripes(seconds, mac("other"), mac(`${seconds}.${body}`)), "accepted"],
  ["as old as is allowed", stripe, stripes(seconds - 300, mac(`${seconds - 300}.${body}`)), "accepted"],
  ["too old", stripe, stripes(seconds - 301, mac(`${seconds - 301}.${body}`)), old(300)],
  ["in the future", stripe, stripes(seconds + 301, mac(`${seconds + 301}.${body}`)), old(300)],
  [
    "older than the pipe allows",
    { ...stripe, toleranceSeconds: 10 },
    stripes(seconds - 11, mac(`${seconds - 11}.${body}`)),
    old(10),
  ],
  ["an old signature with a new time", stripe, stripes(seconds, mac(`${seconds - 900}.${body}`)), wrong],
  ["the time is not signed", stripe, stripes(seconds, mac(body)), wrong],
  ["a scheme of tests", stripe, { "stripe-signature": `t=${seconds},v0=${mac(`${seconds}.${body}`)}` }, unsigned],
  ["a time that is none", stripe, stripes("1e9", mac(`1e9.${body}`)), untimed],
  ["not signed", stripe, {}, unsigned],
] as const)("stripe: %s", (_, signature, headers, answer) => {
  expect(judged(signature, headers as Record<string, string>)).toBe(answer);
});

const generic: Signature = { scheme: "generic", secret };
const timed: Signature = { ...generic, header: "X-Own", timestampHeader: "X-Time" };
test.each([
  ["hex", generic, { "x-signature": mac(body) }, "accepted"],
  ["hex with the name of the hash", generic, { "x-signature": `sha256=${mac(body)}` }, "accepted"],
  ["base64", generic, { "x-signature": mac(body, "base64") }, "accepted"],
  ["wrong", generic, { "x-signature": mac("other", "base64") }, wrong],
  ["no bytes", generic, { "x-signature": "=" }, wrong],
  ["not signed", generic, { "x-other": mac(body) }, unsigned],
  ["with a time", timed, { "x-own": mac(`${seconds}.${body}`), "x-time": `${seconds}` }, "accepted"],
  ["another time", timed, { "x-own": mac(`${seconds}.${body}`), "x-time": `${seconds + 1}` }, wrong],
  ["too old", timed, { "x-own": mac(`1.${body}`), "x-time": "1" }, old(300)],
  ["without its time", timed, { "x-own": mac(body) }, untimed],
] as const)("generic: %s", (_, signature, headers, answer) => {
  expect(judged(signature, headers as Record<string, string>)).toBe(answer);
});
