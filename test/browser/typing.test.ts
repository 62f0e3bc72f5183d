/**
 * What somebody types into the SQL editor is what it holds, whatever it suggests meanwhile. `COUNT=200` types as many
 * statements, in some minutes.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { numberOf, seedOf } from "../../harness/bounds.ts";
import { type ConsoleBrowser, chromiumMissing, openConsole } from "../../harness/browser.ts";
import { Dice } from "../../harness/random.ts";
import { query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

const seed = seedOf();
const count = numberOf("COUNT", 16);
/** Keyboards at once: each waits most of the time. */
const hands = Math.min(8, Math.ceil(count / 4));

/** Milliseconds to the next key: fast, and now and then so slow that every suggestion has come. */
function pauseOf(dice: Dice): number {
  return dice.chance(0.92) ? 30 : 100 + dice.below(301);
}

/** A statement over several lines, with new names, quotes, brackets and indentation. */
function statement(dice: Dice): string {
  const column = () =>
    dice.pick(["origin", "dest", "delay", "count()", "sum(delay)", "toDate(at)", "if(delay > 0, 1, 0)"]);
  const alias = () => dice.pick(["", "", " AS n", " AS na", " AS fact", " AS s", " AS to"]);
  const columns = Array.from({ length: 1 + dice.below(3) }, () => `${column()}${alias()}`).join(", ");
  const condition = dice.pick([
    "",
    "\nWHERE origin = 'it''s (a) [b'",
    "\n  WHERE dest IN ('x', \"y\")",
    "\nWHERE delay > -1",
  ]);
  const order = dice.pick(["", "\nORDER BY origin", "\nGROUP BY origin\nORDER BY n", " FORMAT JSON", " -- f"]);
  return `SELECT ${columns}\nFROM flights${condition}${order}${dice.pick(["", "\n", ";"])}`;
}

describe.skipIf(chromiumMissing !== undefined)("typing at 30 to 400 ms a key", () => {
  let opened: ConsoleBrowser;
  beforeAll(async () => {
    opened = await openConsole();
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());

  test("every statement comes out as it was typed, and Run closes the suggestions", async () => {
    console.log(`SEED=${seed} COUNT=${count}`);
    const service = await runningService(opened.served, { name: "typed", idleScaling: false });
    await query(service, "CREATE TABLE flights (at DateTime, origin String, dest String, delay Int32) ORDER BY at");
    const dice = new Dice(seed);
    const each = Array.from({ length: hands }, (_, hand) => new Dice(dice.below(2 ** 31) + hand));
    let left = count;
    await Promise.all(
      each.map(async (own) => {
        const { page } = await opened.open(`/sql?service=${service.id}`);
        const editor = page.getByRole("textbox", { name: "Statement" });
        await editor.waitFor();
        while (left > 0) {
          left -= 1;
          const text = statement(own);
          await editor.focus();
          await page.keyboard.press("Control+A");
          await page.keyboard.press("Delete");
          for (const key of text) {
            await page.keyboard.press(key === "\n" ? "Enter" : key, { delay: 0 });
            await page.waitForTimeout(pauseOf(own));
          }
          const typed = await editor.evaluate((element) =>
            [...element.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"),
          );
          expect(typed).toBe(text);
          await page.keyboard.press("Control+Enter");
          expect(await page.locator(".cm-tooltip-autocomplete").count()).toBe(0);
        }
      }),
    );
  }, 1_800_000);
});
