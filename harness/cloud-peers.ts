/** The sources of `examples/terraform`: Kafka, a bucket, a Kinesis stream and Postgres with TLS. */
import { type Kfake, kfakeMissing, startKfake } from "./kafka/kfake.ts";
import { accessKey as kinesisKey, startKinesalite, type TestKinesis } from "./kinesis/kinesis.ts";
import { startTestStore, type TestStore } from "./objects/object-store.ts";
import { postgresMissing, TestPostgres } from "./postgres/postgres.ts";
import { makeCertificate, opensslMissing } from "./postgres/tls.ts";

/** The service's, in the example. */
export const cloudPassword = "Accept-Me-1";

const login = { mechanism: "SCRAM-SHA-256", username: "pipe", password: "pipe-secret" };
const lines = (count: number) => Array.from({ length: count }, (_, id) => JSON.stringify({ id, name: `name ${id}` }));

/** Why they cannot be started; undefined when they can. */
export function cloudPeersMissing(): string | undefined {
  return kfakeMissing() ?? postgresMissing(18) ?? opensslMissing();
}

export class CloudPeers implements AsyncDisposable {
  readonly kafka: Kfake;
  readonly kinesis: TestKinesis;
  readonly store: TestStore;
  readonly postgres: TestPostgres;
  /** The variables of the example. */
  readonly variables;

  private constructor(kafka: Kfake, kinesis: TestKinesis, store: TestStore, postgres: TestPostgres) {
    [this.kafka, this.kinesis, this.store, this.postgres] = [kafka, kinesis, store, postgres];
    const { username } = login;
    const key = ({ accessKeyId, secretKey }: { accessKeyId: string; secretKey: string }) => ({
      ...{ access_key_id: accessKeyId, secret_key: secretKey },
    });
    this.variables = {
      password: cloudPassword,
      kafka: { brokers: kafka.brokers, username, password: login.password },
      bucket: { url: `${store.endpoint}/${store.bucket}/*.json`, ...key(store.accessKey) },
      stream: { name: "events", ...key(kinesisKey) },
      postgres: {
        ...{ host: "127.0.0.1", port: postgres.port, database: "postgres", tls_host: "db.example" },
        ...{ username: postgres.user, password: postgres.password, ca_certificate: makeCertificate(postgres.dataDir) },
      },
    };
  }

  /** Each with some rows: 10 in Kafka and Kinesis, 15 in objects, 20 in each of two tables. */
  static async start(): Promise<CloudPeers> {
    const [kafka, kinesis, store, postgres] = await Promise.all([
      startKfake({ topics: { events: 2, other: 1 }, login }),
      startKinesalite(),
      startTestStore(),
      TestPostgres.start(),
    ]);
    await kafka.produce("events", 0, 10);
    await store.put("a.json", lines(15).join("\n"));
    await kinesis.createStream("events", 1);
    await kinesis.put(
      "events",
      lines(10).map((text, i) => ({ PartitionKey: String(i), Data: Buffer.from(text) })),
    );
    for (const table of ["orders", "users"]) {
      await postgres.sql(`CREATE TABLE ${table} (id bigint PRIMARY KEY, name text)`);
      await postgres.sql(`INSERT INTO ${table} SELECT n, 'name ' || n FROM generate_series(1, 20) n`);
    }
    const peers = new CloudPeers(kafka, kinesis, store, postgres);
    await postgres.sql("ALTER SYSTEM SET ssl = on");
    await postgres.sql("SELECT pg_reload_conf()");
    return peers;
  }

  /** The environment of the server that has pipes of them. */
  get environment(): Record<string, string> {
    return { AWS_ENDPOINT_URL_KINESIS: this.kinesis.endpoint };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of [this.kafka, this.kinesis, this.store, this.postgres]) await peer[Symbol.asyncDispose]();
  }
}
