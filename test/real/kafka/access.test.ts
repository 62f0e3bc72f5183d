/** Reaching real brokers: logins, TLS, and the errors of wrong configurations. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Certificates, kafkaMissing, login, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { type KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { createPipe, details } from "../../../harness/pipes.ts";
import { type BenchService, query, type Served, until } from "../../../harness/serve.ts";

if (kafkaMissing !== undefined) console.warn(`Kafka access is not tested: ${kafkaMissing}`);

describe.skipIf(kafkaMissing !== undefined)("access to Kafka", () => {
  let stage: KafkaStage;
  let kafka: TestKafka;
  let tool: KafkaTool;
  let served: Served;
  let service: BenchService;
  let certificates: Certificates;

  beforeAll(async () => {
    stage = await kafkaStage({ kafka: { security: true } });
    ({ kafka, tool, served, service } = stage);
    certificates = kafka.certificates as Certificates;
    await tool.topic("orders", 2);
    await tool.topic("empty");
    await tool.send(orders("orders", 0, 50, 2));
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
  });

  test.each([
    ["plain", () => ({ brokers: kafka.saslBrokers, authentication: "PLAIN", credentials: login })],
    ["scram256", () => ({ brokers: kafka.saslBrokers, authentication: "SCRAM-SHA-256", credentials: login })],
    [
      "scram512",
      () => ({
        brokers: kafka.saslTlsBrokers,
        authentication: "SCRAM-SHA-512",
        credentials: login,
        caCertificate: certificates.ca,
      }),
    ],
    [
      "mutual",
      () => ({
        brokers: kafka.mutualTlsBrokers,
        authentication: "MUTUAL_TLS",
        credentials: { certificate: certificates.cert, privateKey: certificates.key },
        caCertificate: certificates.ca,
      }),
    ],
  ])("%s", async (table, source) => {
    const id = await createPipe(served, service, kafkaBody(kafka, "orders", table, { source: source() }));
    await until(
      "all rows",
      async () => (await query(service, `SELECT count() FROM ${table}`).catch(() => "")) === "50",
    );
    const shown = JSON.stringify(await details(served, service, id));
    expect(shown).not.toContain(login.password);
    expect(shown).not.toContain("PRIVATE KEY");
  });

  const refused = async (source: object, message: RegExp, topics = "orders", validateSamples = false) => {
    const body = kafkaBody(kafka, topics, "refused", { source });
    const asked = validateSamples ? { ...body, source: { ...body.source, validateSamples } } : body;
    await expect(createPipe(served, service, asked)).rejects.toThrow(message);
  };

  test("what cannot be reached is named: DNS, port, TLS, login, topic", async () => {
    const tls = { brokers: kafka.saslTlsBrokers, authentication: "PLAIN", credentials: login };
    await refused({ brokers: "no.such.host.invalid:9092" }, /DNS/);
    await refused({ brokers: "127.0.0.1:1" }, /nothing listens at 127\.0\.0\.1:1;/);
    await refused({ brokers: "nonsense:port:9" }, /"nonsense:port:9" is not host:port/);
    await refused({ ...tls, caCertificate: certificates.otherCa }, /TLS to \S+ fails \(UNABLE_TO_VERIFY/);
    await refused(tls, /wants TLS; give caCertificate/);
    await refused({ caCertificate: certificates.ca }, /does not speak TLS/);
    const wrong = { ...login, password: "wrong-password" };
    await refused({ ...tls, caCertificate: certificates.ca, credentials: wrong }, /SASL: wrong user name or password/);
    await refused({ brokers: kafka.mutualTlsBrokers, caCertificate: certificates.ca }, /client certificate/);
    await refused({ brokers: kafka.saslBrokers }, /wants a login/);
    await refused({}, /topic "nothere" does not exist/, "orders, nothere");
    await refused({ format: "Protobuf" }, /schemaRegistry: is required for the format Protobuf/);
    await refused({ format: "Avro" }, /schemaRegistry/);
    const registry = { url: "http://127.0.0.1:1" };
    await refused(
      { format: "AvroConfluent", schemaRegistry: registry },
      /schemaRegistry.url: nothing listens at 127\.0\.0\.1:1;/,
    );
  });

  test("samples are checked against the columns", async () => {
    await refused({}, /holds no messages yet/, "empty", true);
    const types = {
      destination: {
        columns: [
          { name: "id", type: "UUID" },
          { name: "name", type: "String" },
        ],
      },
    };
    const given = kafkaBody(kafka, "orders", "refused", types);
    const typed = { ...given, source: { ...given.source, validateSamples: true } };
    await expect(createPipe(served, service, typed)).rejects.toThrow(/field "id" does not fit UUID in topic "orders"/);
    const mapped = {
      ...kafkaBody(kafka, "orders", "refused"),
      fieldMappings: [
        { sourceField: "idd", destinationField: "id" },
        { sourceField: "name", destinationField: "name" },
      ],
    };
    const misspelled = { ...mapped, source: { ...mapped.source, validateSamples: true } };
    await expect(createPipe(served, service, misspelled)).rejects.toThrow(/no field "idd"/);
  });

  test("fields and types are discovered", async () => {
    const { params } = service;
    const source = { messageBroker: { brokers: kafka.brokers, topics: "orders" } };
    expect(await served.api.discoverSchema({ params, body: { source } })).toMatchObject({
      fields: [
        { name: "id", type: "Int64", optional: false },
        { name: "name", type: "String", optional: false },
      ],
    });
    const empty = { messageBroker: { brokers: kafka.brokers, topics: "empty" } };
    await expect(served.api.discoverSchema({ params, body: { source: empty } })).rejects.toThrow(/no messages yet/);
  });
});
