/** A bucket with as many keys below a prefix as the prefix says: answers ListObjectsV2 with keys that it makes up. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const pageKeys = 1_000;

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? "/", "http://host");
  const objects = Number.parseInt(searchParams.get("prefix") ?? "0", 10);
  const after = searchParams.get("start-after");
  const from = after === null ? 0 : Number(after.split("/")[1]) + 1;
  const until = Math.min(objects, from + pageKeys);
  let contents = "";
  for (let key = from; key < until; key += 1) {
    contents += `<Contents><Key>${objects}/${String(key).padStart(8, "0")}</Key><ETag>"e"</ETag><Size>10</Size></Contents>`;
  }
  response.end(`<ListBucketResult><IsTruncated>${until < objects}</IsTruncated>${contents}</ListBucketResult>`);
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit(0));
