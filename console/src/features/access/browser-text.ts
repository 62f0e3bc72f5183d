const browsers: readonly (readonly [word: string, pattern: RegExp])[] = [
  ["Edge", /Edg(?:e|A|iOS)?\/(\d+)/],
  ["Opera", /OPR\/(\d+)/],
  ["Firefox", /(?:Firefox|FxiOS)\/(\d+)/],
  ["Chrome", /(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/],
  ["Safari", /Version\/(\d+)[\d.]* .*Safari/],
];

const systems: readonly (readonly [word: string, pattern: RegExp])[] = [
  ["Android", /Android/],
  ["iOS", /iPhone|iPad/],
  ["Windows", /Windows/],
  ["macOS", /Mac OS X|Macintosh/],
  ["ChromeOS", /CrOS/],
  ["Linux", /Linux|X11/],
];

/** `Firefox 140 on Linux`; the description as it is if it is not known. */
export function browserText(userAgent: string): string {
  if (userAgent === "") return "Unknown browser";
  const browser = browsers.find(([, pattern]) => pattern.test(userAgent));
  if (browser === undefined) return userAgent.slice(0, 60);
  const version = browser[1].exec(userAgent)?.[1];
  const system = systems.find(([, pattern]) => pattern.test(userAgent));
  return `${browser[0]} ${version}${system === undefined ? "" : ` on ${system[0]}`}`;
}
