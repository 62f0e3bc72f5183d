import { describe, expect, test } from "vitest";
import { enginePattern, isPlainKey, listedPrefix } from "../stores/keys.ts";
import { engineUrl, notifiedBucket, parseUrl } from "../stores/location.ts";
import { compareKeys, keyPattern } from "./glob.ts";
import { Packer, partsOf } from "./packing.ts";
import { type ListedPage, withNext } from "./runs.ts";

describe("key patterns", () => {
  test.each([
    ["a/*.json", "a/x.json", true],
    ["a/*.json", "a/b/x.json", false],
    ["a/**.json", "a/b/x.json", true],
    ["a/?.json", "a/x.json", true],
    ["a/?.json", "a//.json", false],
    ["a/*.json", "A/x.json", false],
    ["a/{1,2}*.json", "a/{1,2}x.json", true],
    ["a/{1,2}*.json", "a/1x.json", false],
    ["a.b/*", "axb/c", false],
    ["a/", "a/b/c", true],
    ["", "anything", true],
    ["a/x.json", "a/x.json", true],
    ["a/x.json", "a/xy.json", false],
    ["a/**", "a/folder/", false],
    ["日/*", "日/é 1+%.json", true],
    ["a/?", "a/😀", true],
  ])("%s on %s: %s", (pattern, key, matches) => expect(keyPattern(pattern).matches(key)).toBe(matches));

  // Pattern and keys are those of users. A regular expression needs 15 seconds for it, and hours with one part more.
  test("a pattern of many wildcards is compared with a long key at once", () => {
    const { matches } = keyPattern(`${"**a".repeat(4)}b`);
    const started = performance.now();
    expect(matches("a".repeat(400))).toBe(false);
    expect(matches(`${"a".repeat(400)}b`)).toBe(true);
    for (const pattern of ["**/*b", "*/**a/*b", "**?b"])
      expect(keyPattern(pattern).matches("a/".repeat(500).concat("a"))).toBe(false);
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  test("a listing is limited to what stands before the first wildcard", () => {
    expect(keyPattern("logs/2026-*/x?.json")).toMatchObject({ prefix: "logs/2026-", exact: false });
    expect(keyPattern("logs/one.json")).toMatchObject({ prefix: "logs/one.json", exact: true });
  });

  test("keys are ordered by their bytes, as stores list them", () => {
    expect(["\u{ff5e}", "\u{1f600}", "a"].sort(compareKeys)).toEqual(["a", "\u{ff5e}", "\u{1f600}"]);
  });
});

/** The batches of a page's keys. */
function packed(page: ListedPage, keys: readonly string[], maxFiles = 1_000) {
  const packer = new Packer({ maxBytes: 1e6, maxFiles, threads: { beside: 1, alone: 1 }, page }, undefined);
  const packs = keys.flatMap((key) => packer.add({ key, etag: "e", size: 1 }, "JSONEachRow"));
  return [...packs, ...packer.flush()];
}

describe("the engine's path arguments", () => {
  test("characters that are wildcards there become one wildcard, everything else is percent-encoded", () => {
    expect(enginePattern(["d/a{1,2}*.json"], encodeURIComponent)).toBe("d/a*1%2C2*.json");
    expect(enginePattern(["a b+c%.json"], encodeURIComponent)).toBe("a%20b%2Bc%25.json");
    expect(enginePattern(["x/1", "x/2"], encodeURIComponent)).toBe("{x/1,x/2}");
    expect(["a,b", "a{b", "a*b", "a..b"].some(isPlainKey)).toBe(false);
  });

  test("keys with a common beginning and end are listed at once", () => {
    const keys = ["d/a 1.json", "d/a 22.json"];
    expect(listedPrefix(keys)).toBe("d/a ");
    expect(enginePattern(keys, encodeURIComponent, "d/a ")).toBe("d/a%20{1.jso,22.jso}*");
    expect(listedPrefix(["d/1", "d/2"])).toBeUndefined();
    expect(listedPrefix(["d/a", "d/aa"])).toBeUndefined();
    expect(listedPrefix(["\u{1f600}x", "\u{1f601}x"])).toBe("");
    expect(listedPrefix(Array.from({ length: 100 }, (_, at) => `${at}${"k".repeat(100)}`))).toBeUndefined();
  });

  test("a folder is listed for a batch unless the engine would read other objects of it", () => {
    const keys = Array.from({ length: 12 }, (_, at) => `d/${String(at).padStart(2, "0")}.json`);
    const folderBeside = (others: readonly string[]) => {
      const page = { keys: [...keys, ...others].sort(), after: undefined, next: undefined };
      return packed(page, keys)[0]?.folder;
    };
    expect(folderBeside([])).toBe("d/");
    expect(folderBeside(["d/00.csv", "d/_SUCCESS"])).toBe("d/");
    expect(folderBeside(["d/00.json.md5"])).toBeUndefined();
    expect(folderBeside(["d/00.jso"])).toBeUndefined();
    expect(folderBeside(["d/e/00.json"])).toBeUndefined();
  });

  test("a batch ends where the engine can list it, also at the ends of a page", () => {
    const hour = (name: string, files: number) =>
      Array.from({ length: files }, (_, at) => `d/${name}/${String(at).padStart(3, "0")}.json`);
    const keys = [...hour("01", 60).slice(40), ...hour("02", 70), ...hour("03", 5), ...hour("04", 120)];
    const ends = (page: Omit<ListedPage, "keys">, maxFiles?: number) =>
      packed({ keys, ...page }, keys, maxFiles).map(({ folder, files }) => [folder, files.length]);
    const cut = { after: "d/01/039.json", next: "d/04/120.json" };
    expect(ends(cut)).toEqual([
      [undefined, 20],
      ["d/02/0", 70],
      [undefined, 5],
      // The folder goes on after the page, but its keys with 0 do not.
      ["d/04/0", 100],
      [undefined, 20],
    ]);
    expect(ends({ after: "d/00/000.json", next: undefined }).at(-1)).toEqual(["d/04/", 120]);
    expect(ends({ ...cut, next: undefined }, 100).slice(-2)).toEqual([
      ["d/04/0", 100],
      ["d/04/1", 20],
    ]);
  });

  test("a page knows what follows it", async () => {
    const pages = async function* () {
      yield { keys: ["a", "b"] };
      yield { keys: ["c"] };
    };
    const next: unknown[] = [];
    for await (const page of withNext(pages())) next.push(page.next);
    expect(next).toEqual(["c", undefined]);
  });

  test.each([2, 7, 10, 11, 99, 1_000])(
    "a refused batch of %d objects is ten or fewer, with the same objects",
    (count) => {
      const files = Array.from({ length: count }, (_, at) => ({ key: `${at}`, etag: "e", size: 1 }));
      const pack = { files, format: "JSONEachRow", oneBlock: true, lenient: false, threads: 1, folder: "x" } as const;
      const parts = partsOf(pack);
      expect(parts.length).toBeLessThanOrEqual(10);
      expect(parts.length).toBeGreaterThan(1);
      expect(parts.flatMap((part) => part.files)).toEqual(files);
      expect(parts.some((part) => "folder" in part)).toBe(false);
    },
  );
});

describe("urls", () => {
  test.each([
    ["https://b.s3.eu-west-1.amazonaws.com/k/*", "b", "eu-west-1", "k/*"],
    ["https://s3.eu-west-1.amazonaws.com/b/k", "b", "eu-west-1", "k"],
    ["https://my.b.s3.us-east-2.amazonaws.com/k", "my.b", "us-east-2", "k"],
    ["s3://b/k?.json", "b", "us-east-1", "k?.json"],
    ["gs://b/k", "b", "auto", "k"],
    ["https://b.storage.googleapis.com/k", "b", "us-east-1", "k"],
    ["https://b.nyc3.digitaloceanspaces.com/k", "b", "nyc3", "k"],
    ["https://account.r2.cloudflarestorage.com/b/k", "b", "us-east-1", "k"],
    ["http://127.0.0.1:9000/b/a b%41#x", "b", "us-east-1", "a b%41#x"],
  ])("%s", (url, bucket, region, pattern) => expect(parseUrl(url)).toMatchObject({ bucket, region, pattern }));

  test("both styles lead the engine to the same object", () => {
    expect(engineUrl(parseUrl("https://b.s3.eu-west-1.amazonaws.com/x"), "k")).toBe(
      "https://b.s3.eu-west-1.amazonaws.com/k",
    );
    expect(engineUrl(parseUrl("http://h:9000/b/x"), "k")).toBe("http://h:9000/b/k");
    expect(engineUrl(parseUrl("gs://b/x"), "k")).toBe("https://storage.googleapis.com/b/k");
  });

  test.each(["ftp://h/b", "http://user:secret@h/b/k", "http://h/", "h/b"])("%s is refused", (url) =>
    expect(() => parseUrl(url)).toThrow(),
  );
});

test.each([
  ["https://b.s3.eu-west-1.amazonaws.com/x", "b"],
  ["s3://b/x", "b"],
  ["http://127.0.0.1:9000/b/x", "b"],
  ["https://point-123.s3-accesspoint.eu-west-1.amazonaws.com/x", undefined],
  ["https://point-abc-s3alias.s3.eu-west-1.amazonaws.com/x", undefined],
])("notifications of %s name the bucket %s", (url, bucket) => expect(notifiedBucket(parseUrl(url))).toBe(bucket));
