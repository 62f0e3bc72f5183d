/** What the engine says of queries whose end is not known. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ourRevision, serverHello, serverPackets } from "../../endpoint/native/hello.ts";
import { KeptAnswers, settle } from "./kept-answers.ts";
import type { SealedQuery } from "./query-packet.ts";
import { SealedConnection } from "./sealed-connection.ts";

/** A connection that runs `first`, and what it is told when the engine runs `running`; `during`: what it runs then. */
async function told(first: string, running: readonly string[], during = first): Promise<boolean[]> {
  const heard: boolean[] = [];
  const session = { unsettled: first, settle: (isRunning: boolean) => heard.push(isRunning) };
  const rows = async <Row>() => {
    session.unsettled = during;
    return running.map((query_id) => ({ query_id })) as Row[];
  };
  await settle({ rows }, [session]);
  return heard;
}

test("a query that the engine runs goes on, and one that it does not run has ended", async () => {
  expect(await told("a", ["a", "b"])).toEqual([true]);
  expect(await told("a", ["b"])).toEqual([false]);
});

test("the answer says nothing of a query that has begun after the question", async () => {
  expect(await told("a", ["a"], "b")).toEqual([]);
  expect(await told("a", [], "b")).toEqual([]);
});

test("a query without an answer is not asked about: the engine may not know it yet", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const accepted = async () => ((await once(server, "connection")) as [Socket])[0];
  const opening = SealedConnection.open({ host: "127.0.0.1", port, secret: "", key: "" }, ourRevision, "", "user");
  const engine = await accepted();
  engine.write(serverHello(ourRevision, ""));
  const sealed = await opening;
  const client = connect(port, "127.0.0.1");
  const reader = await accepted();
  onTestFinished(() => {
    for (const socket of [client, reader, engine, sealed.socket]) socket.destroy();
  });
  const rests: boolean[] = [];
  const options = { database: "", user: "user", onRest: (is: boolean) => rests.push(is), onException: () => {} };
  const kept = new KeptAnswers(sealed, client, options);
  kept.query({ ...query, id: "a" });
  expect(kept.unsettled).toBe(undefined);
  engine.write(Buffer.from([serverPackets.progress]));
  await expect.poll(() => kept.unsettled).toBe("a");
  engine.write(Buffer.from([serverPackets.endOfStream]));
  await expect.poll(() => rests.at(-1)).toBe(true);
  kept.query({ ...query, id: "b" });
  expect(kept.unsettled).toBe(undefined);
});

const nothing = Buffer.alloc(0);
const query: Omit<SealedQuery, "id"> = {
  origin: { osUser: nothing, hostName: nothing, clientName: nothing, version: [1, 1, 1], trace: undefined },
  ...{ settings: [], stage: 2, compressed: false, text: Buffer.from("SELECT 1"), parameters: [], user: "user" },
  address: { host: "127.0.0.1", port: 1 },
};
