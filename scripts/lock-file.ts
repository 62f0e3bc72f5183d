/** The optional packages in `package-lock.json`, and the missing ones. Pure. */

export type LockEntry = {
  readonly version?: string;
  readonly integrity?: string;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
  readonly libc?: string | readonly string[];
  readonly bin?: Readonly<Record<string, string>>;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly engines?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

export type LockFile = { readonly packages: Readonly<Record<string, LockEntry>> };

/** An optional dependency without an entry, and where its entry belongs. */
export type Missing = {
  readonly parent: string;
  readonly name: string;
  readonly range: string;
  readonly place: string;
};

/**
 * Optional dependencies without an entry. npm silently omits those that the registry does not serve; then `npm ci`
 * refuses the lock, and on their platforms they would be installed without an integrity.
 */
export function missingOptional({ packages }: LockFile): Missing[] {
  return Object.entries(packages).flatMap(([parent, entry]) =>
    Object.entries(entry.optionalDependencies ?? {})
      .filter(([name]) => placeOf(packages, parent, name) === undefined)
      .map(([name, range]) => ({ parent, name, range, place: `node_modules/${name}` })),
  );
}

/** Where a package finds another one: beside itself or further up, as in Node's resolution. */
export function placeOf(packages: LockFile["packages"], from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    const place = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === "") return undefined;
  }
}

/** True when npm would install the entry on a platform. */
export function fits({ os, cpu }: LockEntry, platform: { readonly os: string; readonly cpu: string }): boolean {
  const has = (wanted: string | readonly string[] | undefined, value: string) =>
    wanted === undefined || [wanted].flat().includes(value);
  return has(os, platform.os) && has(cpu, platform.cpu);
}

const systems = "aix android darwin freebsd linux netbsd openbsd openharmony sunos win32".split(" ");
const processors = "arm arm64 ia32 loong64 mips64el ppc64 riscv64 s390x x64".split(" ");
const libraries: Readonly<Record<string, string>> = {
  gnu: "glibc",
  gnueabihf: "glibc",
  musl: "musl",
  musleabihf: "musl",
};

/**
 * The platform in a package's name, as in `@chdb/lib-linux-arm64-gnu`, for a package that the registry does not show.
 * Undefined when the name has none, so that it is never installed on a wrong platform.
 */
export function platformOf(name: string): Pick<LockEntry, "os" | "cpu" | "libc"> | undefined {
  const words = name.split(/[/-]/);
  const os = words.find((word) => systems.includes(word));
  const cpu = words.find((word) => processors.includes(word));
  const libc = words.map((word) => libraries[word]).find((library) => library !== undefined);
  if (os === undefined || cpu === undefined) return undefined;
  return { os: [os], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) };
}
