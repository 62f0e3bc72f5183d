/** What applications send: the console leads from an empty server to a pipe, and to a chart of what has arrived. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { exportJson, spanOf, tracesOf } from "../../harness/push/telemetry.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("telemetry in the console", () => {
  let console_: ConsoleBrowser;

  beforeAll(async () => {
    console_ = await openConsole();
  });
  afterAll(async () => await console_?.[Symbol.asyncDispose]());

  test("from nothing and the choice of OpenTelemetry to a chart of the first span", async () => {
    const { page } = await console_.open("/new-pipe");
    await page.getByRole("button", { name: "OpenTelemetry" }).click();
    await page.getByLabel("Name of the new service").fill("observed");
    await page.getByRole("button", { name: "Create service" }).click();
    expect(await page.getByLabel("Password of the user default", { exact: true }).inputValue()).not.toBe("");
    await page.getByRole("button", { name: "I have kept it" }).click();
    const next = page.getByRole("button", { name: "Next" });
    await next.click();
    await next.click();
    await page.getByLabel("Database").fill("otel");
    await next.click();
    await page.getByLabel("Name of the pipe").fill("telemetry");
    await page.getByRole("button", { name: "Create pipe" }).click();

    const title = page.getByRole("heading", { name: "Send telemetry" });
    const panel = page.locator("section").filter({ has: title });
    await panel.getByText("Waiting for the first span, log record or metric.").waitFor();
    const refused = page
      .locator("main div")
      .filter({ hasText: /^Refused rows/, has: page.getByText("since the pipe") });
    await expect.poll(() => refused.last().textContent()).toBe("Refused rows0since the pipe was created");
    const variables = (await panel.getByRole("region", { name: "environment variables" }).textContent()) ?? "";
    const url = /OTEL_EXPORTER_OTLP_ENDPOINT=(\S+)/.exec(variables)?.[1] as string;
    expect(variables).toContain("OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20KEY_ID.KEY_SECRET");
    await panel.getByRole("button", { name: "Create a key for senders" }).click();
    const key = await panel.getByLabel("KEY_ID.KEY_SECRET", { exact: true }).inputValue();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);

    const to = { url, key: `Bearer ${key}`, pipeId: "" };
    expect((await exportJson(to, "traces", tracesOf([spanOf(1)]))).status).toBe(200);
    await panel.getByText("Telemetry has arrived.").waitFor();
    await panel.getByRole("link", { name: "Chart of otel_traces" }).click();
    await page.waitForURL(/\/explore/);
    await page.getByText("GET /1").first().waitFor();
    expect(console_.problems()).toEqual([]);
  });

  test("the columns of rows that nobody has sent yet are those of an example", async () => {
    const { page } = await console_.open("/new-pipe");
    await page.getByRole("button", { name: "HTTP and webhooks" }).click();
    const next = page.getByRole("button", { name: "Next" });
    await next.click();
    await next.click();
    const example = { at: "2026-05-01T10:00:00.5Z", user: "ann", order: { sum: 1.5 } };
    await page.getByLabel("An example of what is sent").fill(JSON.stringify(example));
    await page.getByRole("button", { name: "Take its columns" }).click();
    await page.getByRole("cell", { name: "ann" }).waitFor();
    const statement = (await page.getByRole("region", { name: "statement" }).textContent()) ?? "";
    expect(statement.replaceAll(/\s+/g, " ")).toContain(
      "default.events ( at DateTime64(9), user String, order Tuple(sum Nullable(Float64)) ) ENGINE = MergeTree ORDER BY (at)",
    );
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await next.click();
    await page.getByRole("button", { name: "Create pipe" }).click();
    await page.getByText("Waiting for the first row.").waitFor();
    expect(console_.problems()).toEqual([]);
  });
});
