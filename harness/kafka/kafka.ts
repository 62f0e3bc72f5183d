/**
 * A real Apache Kafka in KRaft mode on loopback, from the jars of Maven Central. They are expected in
 * `$MILLRACE_CACHE/kafka-VERSION` (default `~/.cache/millrace`) and fetched with Maven once. `KAFKA_VERSION` selects
 * another release, from 3.5 on.
 */

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createConnection } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../network/free-port.ts";
import { untilAnswers } from "../until-answers.ts";
import { compileValidator, type IamKeys, iamProperties } from "./iam.ts";

const version = process.env.KAFKA_VERSION ?? "4.1.0";
const cache = process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace");
export const jars = join(cache, `kafka-${version}`, "libs");

/** Why Kafka cannot be started here; undefined when it can. */
export const kafkaMissing = findMissing();

function findMissing(): string | undefined {
  if (spawnSync("java", ["-version"]).status !== 0) return "no java on this machine (JDK 17 runs Kafka)";
  if (existsSync(jars)) return undefined;
  if (spawnSync("mvn", ["-v"]).status !== 0) return `no Kafka in ${jars}, and no mvn to fetch it with`;
  return undefined;
}

function fetchJars(): void {
  if (existsSync(jars)) return;
  const part = `${jars}.${process.pid}`;
  mkdirSync(part, { recursive: true });
  const pom = join(part, "pom.xml");
  writeFileSync(
    pom,
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>x</groupId>
    <artifactId>x</artifactId><version>1</version><dependencies><dependency><groupId>org.apache.kafka</groupId>
    <artifactId>kafka_2.13</artifactId><version>${version}</version></dependency></dependencies></project>`,
  );
  execFileSync("mvn", [
    "-q",
    "-B",
    "-f",
    pom,
    "dependency:copy-dependencies",
    `-DoutputDirectory=${part}`,
    "-DincludeScope=runtime",
  ]);
  rmSync(pom);
  try {
    renameSync(part, jars);
  } catch (error) {
    // Another test worker was first.
    if (!existsSync(jars)) throw error;
    rmSync(part, { recursive: true });
  }
}

export const login = { username: "pipe", password: "pipe-secret" };

export type TestKafka = AsyncDisposable & {
  /** `host:port` of the listener without login and encryption. */
  readonly brokers: string;
  /** The port of the first broker's plain listener. */
  readonly directPort: number;
  readonly saslBrokers: string;
  readonly saslTlsBrokers: string;
  /** Requires a client certificate. */
  readonly mutualTlsBrokers: string;
  /** Accepts logins like Amazon MSK, with TLS. */
  readonly iamBrokers: string;
  readonly certificates: Certificates | undefined;
  /** The output of the first broker. */
  log(): string;
  /** `kill -9`, followed by a start on the same data. */
  restart(broker?: number): Promise<void>;
  kill(broker?: number): Promise<void>;
  start(broker?: number): Promise<void>;
};

export type Certificates = {
  readonly ca: string;
  readonly otherCa: string;
  readonly cert: string;
  readonly key: string;
};

type Broker = { readonly id: number; readonly folder: string; readonly ports: Ports; child: ChildProcess | undefined };
type Ports = { plain: number; controller: number; sasl: number; saslTls: number; mutual: number; iam: number };

export async function startKafka(
  options: {
    brokers?: number;
    security?: boolean;
    heapMb?: number;
    iamKeys?: IamKeys;
    /** The port of a relay in front of the plain listener of a single broker, whose clients then use it. */
    through?: number;
  } = {},
): Promise<TestKafka> {
  if (kafkaMissing !== undefined) throw new Error(kafkaMissing);
  fetchJars();
  const folder = mkdtempSync(join(tmpdir(), "millrace-kafka-"));
  const certificates = options.security ? makeCertificates(folder) : undefined;
  if (options.iamKeys !== undefined) compileValidator(jars, folder);
  const brokers: Broker[] = [];
  for (let id = 1; id <= (options.brokers ?? 1); id += 1) {
    const [plain, controller, sasl, saslTls, mutual, iam] = (await freePorts(6)) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    brokers.push({
      id,
      folder: join(folder, String(id)),
      ports: { plain, controller, sasl, saslTls, mutual, iam },
      child: undefined,
    });
  }
  const propertiesOf = (broker: Broker) =>
    properties(broker, brokers, certificates, options.iamKeys, options.through ?? broker.ports.plain);
  const cluster = randomBytes(16).toString("base64url");
  for (const broker of brokers) {
    mkdirSync(broker.folder);
    writeFileSync(join(broker.folder, "server.properties"), propertiesOf(broker));
    const scram = ["SCRAM-SHA-256", "SCRAM-SHA-512"].flatMap((name) => [
      "--add-scram",
      `${name}=[name=${login.username},password=${login.password}]`,
    ]);
    java([
      "kafka.tools.StorageTool",
      "format",
      `--cluster-id=${cluster}`,
      "-c",
      join(broker.folder, "server.properties"),
      ...scram,
    ]);
  }
  const heap = options.heapMb ?? 256;
  await Promise.all(brokers.map((broker) => startBroker(broker, heap)));
  const list = (port: keyof Ports) => brokers.map(({ ports }) => `127.0.0.1:${ports[port]}`).join(",");
  const kill = async (at = 0) => await endBroker(brokers[at] as Broker, "SIGKILL");
  const start = async (at = 0) => await startBroker(brokers[at] as Broker, heap);
  return {
    brokers: options.through === undefined ? list("plain") : `127.0.0.1:${options.through}`,
    directPort: (brokers[0] as Broker).ports.plain,
    saslBrokers: list("sasl"),
    saslTlsBrokers: list("saslTls"),
    mutualTlsBrokers: list("mutual"),
    iamBrokers: list("iam"),
    certificates,
    log: () => readFileSync(join(folder, "1", "out.log"), "utf8"),
    kill,
    start,
    restart: async (at = 0) => {
      await kill(at);
      await start(at);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(brokers.map((broker) => endBroker(broker, "SIGKILL")));
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function java(args: string[]): void {
  execFileSync("java", ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", `${jars}/*`, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
}

async function startBroker(broker: Broker, heapMb: number): Promise<void> {
  const log = createWriteStream(join(broker.folder, "out.log"), { flags: "a" });
  await once(log, "open");
  broker.child = spawn(
    "java",
    [
      ...[`-Xmx${heapMb}m`, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"],
      ...["-cp", `${jars}/*:${join(broker.folder, "..")}`, "kafka.Kafka", join(broker.folder, "server.properties")],
    ],
    { stdio: ["ignore", log, log] },
  );
  const words = () => readFileSync(join(broker.folder, "out.log"), "utf8").slice(-4_000);
  await untilAnswers("Kafka", broker.child, () => answers(broker.ports.plain), words);
}

async function endBroker(broker: Broker, signal: NodeJS.Signals): Promise<void> {
  const { child } = broker;
  broker.child = undefined;
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

function properties(
  broker: Broker,
  all: readonly Broker[],
  certificates: Certificates | undefined,
  iamKeys: IamKeys | undefined,
  advertised: number,
): string {
  const { ports } = broker;
  const listeners = [
    ["PLAINTEXT", ports.plain, "PLAINTEXT"],
    ["CONTROLLER", ports.controller, "PLAINTEXT"],
    ["LOGIN", ports.sasl, "SASL_PLAINTEXT"],
    ...(certificates === undefined
      ? []
      : [
          ["LOGINTLS", ports.saslTls, "SASL_SSL"],
          ["MUTUAL", ports.mutual, "SSL"],
        ]),
    ...(iamKeys === undefined ? [] : [["IAM", ports.iam, "SASL_SSL"]]),
  ] as [string, number, string][];
  const jaas = ["login", "logintls"].flatMap((name) => [
    `listener.name.${name}.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_${login.username}="${login.password}";`,
    `listener.name.${name}.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;`,
    `listener.name.${name}.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;`,
  ]);
  const replication = Math.min(3, all.length);
  return [
    "process.roles=broker,controller",
    `node.id=${broker.id}`,
    `controller.quorum.voters=${all.map(({ id, ports: other }) => `${id}@127.0.0.1:${other.controller}`).join(",")}`,
    "controller.listener.names=CONTROLLER",
    `listeners=${listeners.map(([name, port]) => `${name}://127.0.0.1:${port}`).join(",")}`,
    `advertised.listeners=${listeners
      .filter(([name]) => name !== "CONTROLLER")
      .map(([name, port]) => `${name}://127.0.0.1:${name === "PLAINTEXT" ? advertised : port}`)
      .join(",")}`,
    `listener.security.protocol.map=${listeners.map(([name, , protocol]) => `${name}:${protocol}`).join(",")}`,
    "inter.broker.listener.name=PLAINTEXT",
    "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    ...jaas,
    ...(certificates === undefined ? [] : tlsProperties(certificates)),
    ...(iamKeys === undefined ? [] : iamProperties("iam", iamKeys)),
    `log.dirs=${join(broker.folder, "data")}`,
    "auto.create.topics.enable=false",
    `offsets.topic.replication.factor=${replication}`,
    "offsets.topic.num.partitions=1",
    `transaction.state.log.replication.factor=${replication}`,
    "transaction.state.log.min.isr=1",
    "transaction.state.log.num.partitions=1",
    `default.replication.factor=${replication}`,
    "group.initial.rebalance.delay.ms=0",
    // Messages with old times stay, until a test asks for their removal.
    "log.retention.ms=-1",
    "log.retention.check.interval.ms=500",
    "log.segment.delete.delay.ms=100",
    "log.cleaner.backoff.ms=200",
    "log.cleaner.dedupe.buffer.size=2000000",
    "broker.session.timeout.ms=1500",
    "broker.heartbeat.interval.ms=300",
    "message.max.bytes=20000000",
    "replica.fetch.max.bytes=20000000",
    "num.network.threads=2",
    "num.io.threads=2",
    "",
  ].join("\n");
}

function tlsProperties({ ca, cert, key }: Certificates): string[] {
  const line = (pem: string) => pem.trim().replaceAll("\n", "\\n");
  return [
    "ssl.keystore.type=PEM",
    `ssl.keystore.certificate.chain=${line(cert)}`,
    `ssl.keystore.key=${line(key)}`,
    "ssl.truststore.type=PEM",
    `ssl.truststore.certificates=${line(ca)}`,
    "listener.name.mutual.ssl.client.auth=required",
    "listener.name.logintls.ssl.client.auth=none",
  ];
}

/** A CA, a certificate for 127.0.0.1 that serves broker and client, and a CA that has signed neither. */
function makeCertificates(folder: string): Certificates {
  const file = (name: string) => join(folder, name);
  const run = (...args: string[]) => execFileSync("openssl", args, { stdio: "ignore" });
  const makeCa = (name: string) =>
    run(
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
      "-keyout",
      file(`${name}.key`),
      "-out",
      file(`${name}.pem`),
    );
  makeCa("ca");
  makeCa("other");
  run(
    "req",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-subj",
    "/CN=pipe",
    "-keyout",
    file("leaf.key"),
    "-out",
    file("leaf.csr"),
  );
  writeFileSync(
    file("leaf.ext"),
    "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n",
  );
  run(
    "x509",
    "-req",
    "-in",
    file("leaf.csr"),
    "-CA",
    file("ca.pem"),
    "-CAkey",
    file("ca.key"),
    "-CAcreateserial",
    "-days",
    "2",
    "-extfile",
    file("leaf.ext"),
    "-out",
    file("leaf.pem"),
  );
  const read = (name: string) => readFileSync(file(name), "utf8");
  return { ca: read("ca.pem"), otherCa: read("other.pem"), cert: read("leaf.pem"), key: read("leaf.key") };
}

async function answers(port: number): Promise<boolean> {
  const socket = createConnection({ host: "127.0.0.1", port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
