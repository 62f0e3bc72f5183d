/** `iamRole`: the role is assumed at STS, and its temporary keys reach the engine as bound parameters. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { mskTokens } from "../../aws/msk-token.ts";
import { KinesisStream } from "../../managed-stream/client/client.ts";
import { parseUrl } from "./location.ts";
import { S3Store } from "./s3.ts";

test("AssumeRole once, its session in the parameters, nothing of it in the statement", async () => {
  const asked: string[] = [];
  const sts = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push(body);
    const expiration = new Date(Date.now() + 3_600_000).toISOString();
    response.setHeader("content-type", "text/xml");
    response.end(
      `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>temporary</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${expiration}</Expiration></Credentials><AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/millrace-pipe</Arn><AssumedRoleId>x:y</AssumedRoleId></AssumedRoleUser></AssumeRoleResult></AssumeRoleResponse>`,
    );
  }).listen(0, "127.0.0.1");
  await new Promise((done) => sts.once("listening", done));
  vi.stubEnv("AWS_ENDPOINT_URL_STS", `http://127.0.0.1:${(sts.address() as AddressInfo).port}`);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "machine");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "machine-secret");
  const url = "https://b.s3.eu-west-1.amazonaws.com/in/*";
  const config = { url, authentication: "IAM_ROLE", iamRole: "arn:aws:iam::1:role/r" } as const;
  const store = new S3Store(parseUrl(url), config, anyNetwork);
  const call = await store.reader(["in/a.json"]);
  await store.reader(["in/b.json"]);
  expect(call.params).toMatchObject({ access_key: "ASIA1", secret_key: "temporary", session_token: "session" });
  expect(call.head).toBe("s3({object_url:String}, {access_key:String}, {secret_key:String}, {session_token:String}, ");
  expect(asked.length).toBe(1);
  expect(asked[0]).toContain("role%2Fr");
  // Otherwise one organization could use a role that trusts this server for another one.
  expect(new URLSearchParams(asked[0]).get("ExternalId")).toBe(anyNetwork.organizationId);
  store.close();
  sts.close();
  vi.unstubAllEnvs();
});

const role = { authentication: "IAM_ROLE", iamRole: "arn:aws:iam::1:role/r" } as const;
const brokers = ["b-1.x.kafka.eu-west-1.amazonaws.com"];
const { signal } = new AbortController();
const s3 = "s3://b/in/*";

const askers = [
  ["objectStorage", () => new S3Store(parseUrl(s3), { ...role, url: s3 }, anyNetwork).reader(["in/a.json"])],
  ["objectStorage", () => new S3Store(parseUrl(s3), { ...role, url: s3 }, anyNetwork).list("", undefined, signal)],
  [
    "managedStream",
    () => new KinesisStream({ ...role, streamName: "s", region: "eu-west-1" }, anyNetwork).shards(signal),
  ],
  ["messageBroker", () => mskTokens(role, brokers, anyNetwork)()],
] as const;

test.each(askers)("a role that is refused is named as a member of %s", async (kind, ask) => {
  await using _ = await startSts((response) => void response.writeHead(403).end("<ErrorResponse/>"));
  const issues = [{ path: `source.${kind}.iamRole` }];
  await expect(ask()).rejects.toMatchObject({ code: "SOURCE_UNAUTHORIZED", issues });
});

test.each(askers)("an STS that hangs up is the trouble of the role of %s, not of its address", async (kind, ask) => {
  await using _ = await startSts((response) => void response.destroy());
  const issues = [{ path: `source.${kind}.iamRole`, message: expect.stringContaining("the STS endpoint of") }];
  await expect(ask()).rejects.toMatchObject({ code: "SOURCE_UNREACHABLE", issues });
});

async function startSts(answer: (response: ServerResponse) => void): Promise<AsyncDisposable> {
  const sts = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  await new Promise((done) => sts.once("listening", done));
  vi.stubEnv("AWS_ENDPOINT_URL_STS", `http://127.0.0.1:${(sts.address() as AddressInfo).port}`);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "machine");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "machine-secret");
  return {
    [Symbol.asyncDispose]: async () => {
      sts.closeAllConnections();
      sts.close();
      vi.unstubAllEnvs();
    },
  };
}
