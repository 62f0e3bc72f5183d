import { describe, expect, test } from "vitest";
import { childEnvironment } from "./child-environment.ts";

const ours = {
  PATH: "/bin",
  LANG: "de_DE.UTF-8",
  LC_ALL: "C",
  TZ: "Europe/Berlin",
  HOME: "/our-home",
  NODE_EXTRA_CA_CERTS: "/etc/our-ca.pem",
  NODE_OPTIONS: "--require ./anything",
  LD_PRELOAD: "/tmp/anything.so",
  HTTPS_PROXY: "http://proxy",
  PGPASSWORD: "secret",
  MILLRACE_SECRET_KEY: "secret",
  GOOGLE_APPLICATION_CREDENTIALS: "/our-home/key.json",
  AZURE_CLIENT_SECRET: "secret",
  AWS_ACCESS_KEY_ID: "key",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_REGION: "eu-west-3",
  AWS_WEB_IDENTITY_TOKEN_FILE: "/var/run/secrets/token",
  AWS_ENDPOINT_URL_STS: "http://sts",
  AWS_ENDPOINT_URL_KINESIS: "http://kinesis",
};

describe("the environment of a child", () => {
  test("is a list: language, time zone, certificates, and nothing that opens anything", () => {
    expect(childEnvironment({ home: "/own", compiled: "/compiled" }, ours)).toEqual({
      environment: {
        PATH: "/bin",
        LANG: "de_DE.UTF-8",
        LC_ALL: "C",
        TZ: "Europe/Berlin",
        NODE_EXTRA_CA_CERTS: "/etc/our-ca.pem",
        HOME: "/own",
        RES_OPTIONS: "single-request",
        NODE_COMPILE_CACHE: "/compiled",
        AWS_EC2_METADATA_DISABLED: "true",
      },
      reads: ["/compiled", "/etc/our-ca.pem"],
    });
  });

  test("tells region and endpoint of a stream where they are needed, without credentials", () => {
    const { environment } = childEnvironment({ home: "/own", aws: "region" }, ours);
    expect(Object.keys(environment).filter((name) => name.startsWith("AWS_"))).toEqual([
      "AWS_REGION",
      "AWS_ENDPOINT_URL_KINESIS",
      "AWS_EC2_METADATA_DISABLED",
    ]);
  });

  test("of a source with a role has what the AWS clients read, and the files are named", () => {
    const { environment, reads } = childEnvironment({ home: "/own", compiled: "/compiled", aws: "credentials" }, ours);
    expect(environment).toMatchObject({
      HOME: "/our-home",
      AWS_ACCESS_KEY_ID: "key",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_ENDPOINT_URL_STS: "http://sts",
    });
    expect(environment).not.toHaveProperty("AWS_EC2_METADATA_DISABLED");
    expect(environment).not.toHaveProperty("PGPASSWORD");
    // The folder of the token, which is replaced by a new file while the child runs.
    expect(reads).toEqual(["/compiled", "/etc/our-ca.pem", "/var/run/secrets", "/our-home/.aws"]);
  });
});
