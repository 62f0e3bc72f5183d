/**
 * Logins in the form of Amazon MSK, on an Apache Kafka that checks the tokens' signatures. MSK itself was not tested.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { iamSessionMs } from "../../../harness/kafka/iam.ts";
import { kafkaMissing, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { type KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { createPipe, details } from "../../../harness/pipes.ts";
import { type BenchService, query, type Served, until } from "../../../harness/serve.ts";

if (kafkaMissing !== undefined) console.warn(`IAM logins at Kafka are not tested: ${kafkaMissing}`);

const user = { accessKeyId: "AKIAUSER", secretKey: "user/secret+1" };
const role = { id: "ASIAROLE", secret: "temporary/secret", session: "session+token/with=signs" };

describe.skipIf(kafkaMissing !== undefined)("IAM logins at Kafka", () => {
  let stage: KafkaStage;
  let kafka: TestKafka;
  let tool: KafkaTool;
  let served: Served;
  let service: BenchService;
  let sts: Server;
  const assumed: string[] = [];

  beforeAll(async () => {
    sts = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      assumed.push(body);
      response.setHeader("content-type", "text/xml");
      if (!body.includes("role%2Freader")) {
        response.statusCode = 403;
        return response.end(
          "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>",
        );
      }
      const expiration = new Date(Date.now() + 3_600_000).toISOString();
      response.end(
        `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>${role.id}</AccessKeyId><SecretAccessKey>${role.secret}</SecretAccessKey><SessionToken>${role.session}</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
      );
    }).listen(0, "127.0.0.1");
    await new Promise((done) => sts.once("listening", done));
    const env = {
      AWS_REGION: "eu-west-3",
      AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${(sts.address() as AddressInfo).port}`,
      AWS_ACCESS_KEY_ID: "machine",
      AWS_SECRET_ACCESS_KEY: "machine-secret",
    };
    const iamKeys = {
      [user.accessKeyId]: { secret: user.secretKey },
      [role.id]: { secret: role.secret, session: role.session },
    };
    stage = await kafkaStage({ kafka: { security: true, iamKeys }, env });
    ({ kafka, tool, served, service } = stage);
    await tool.topic("orders", 2);
    await tool.send(orders("orders", 0, 50, 2));
  });
  afterAll(async () => {
    sts?.close();
    await stage?.[Symbol.asyncDispose]();
  });

  const source = (more: object) => ({
    source: { type: "msk", brokers: kafka.iamBrokers, caCertificate: kafka.certificates?.ca, ...more },
  });
  const rowsOf = async (table: string) => await query(service, `SELECT count() FROM ${table}`).catch(() => "");
  const logins = (key: string) => kafka.log().split(`MSK token of ${key}\n`).length - 1;

  test("access keys: a signed token, renewed before the broker ends the session", async () => {
    const iam = source({ authentication: "IAM_USER", credentials: user });
    const id = await createPipe(served, service, kafkaBody(kafka, "orders", "by_user", iam));
    await until("all rows", async () => (await rowsOf("by_user")) === "50");
    const before = logins(user.accessKeyId);
    const started = Date.now();
    await until("new logins", async () => Date.now() - started > 2 * iamSessionMs && logins(user.accessKeyId) > before);
    await tool.send(orders("orders", 50, 60, 2));
    await until("rows after new logins", async () => (await rowsOf("by_user")) === "60");
    const shown = await details(served, service, id);
    expect(shown.state).toBe("Running");
    expect(JSON.stringify(shown)).not.toContain(user.secretKey);
    expect(kafka.log()).not.toContain("MSK token refused");
  });

  test("a role: assumed at STS, its session token goes along", async () => {
    const iam = source({ authentication: "IAM_ROLE", iamRole: "arn:aws:iam::1:role/reader" });
    await createPipe(served, service, kafkaBody(kafka, "orders", "by_role", iam));
    await until("all rows", async () => (await rowsOf("by_role")) === "60");
    expect(logins(role.id)).toBeGreaterThan(0);
    expect(assumed.every((body) => body.includes("AssumeRole"))).toBe(true);
  });

  test("what is refused is named: the key, the role", async () => {
    const wrong = source({ authentication: "IAM_USER", credentials: { ...user, secretKey: "another" } });
    await expect(createPipe(served, service, kafkaBody(kafka, "orders", "refused", wrong))).rejects.toThrow(
      /does not accept the credentials: IAM: the key or role may not connect/,
    );
    const other = source({ authentication: "IAM_ROLE", iamRole: "arn:aws:iam::1:role/other" });
    await expect(createPipe(served, service, kafkaBody(kafka, "orders", "refused", other))).rejects.toThrow(
      /AWS gives no credentials for iamRole \(AccessDenied\)/,
    );
  });
});
