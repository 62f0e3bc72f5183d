/** What somebody types into the SQL editor is what it holds, whatever it suggests meanwhile. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { numberOf, seedOf } from "../../harness/bounds.ts";
import { type ConsoleBrowser, chromiumMissing, openConsole } from "../../harness/browser.ts";
import { Dice } from "../../harness/random.ts";
import { query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

const seed = seedOf();
const count = numberOf("COUNT", 16);

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
    // Hands on several keyboards: each waits most of the time.
    const hands = Array.from({ length: 4 }, (_, hand) => new Dice(dice.below(2 ** 31) + hand));
    let left = count;
    await Promise.all(
      hands.map(async (own) => {
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
            await page.waitForTimeout(own.chance(0.8) ? 30 + own.below(60) : 90 + own.below(310));
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
  }, 900_000);
});
