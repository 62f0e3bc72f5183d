/** Addresses of brokers. */
import { expect, test } from "vitest";
import { anyNetwork } from "../../../harness/network/network.ts";
import { brokerAccessOf } from "./access.ts";

test("an address that is wrong is named, and a login in front of it is not", () => {
  const refusalOf = (brokers: string) => {
    try {
      brokerAccessOf({ brokers, topics: "t" }, anyNetwork);
    } catch (error) {
      return (error as Error).message;
    }
    return expect.fail("the address should be refused");
  };
  expect(refusalOf("a:9092,nonsense:port:9")).toContain('"nonsense:port:9" is not host:port');
  for (const brokers of ["a:9092,u:secret@b:9092", "SASL_SSL://u:secret@b:9092", "secret@b:port"]) {
    expect(refusalOf(brokers)).toContain("what contains @ is not host:port; logins belong into credentials");
    expect(refusalOf(brokers)).not.toContain("secret");
  }
});
