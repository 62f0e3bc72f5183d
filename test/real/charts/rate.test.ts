/** The rate limit of charts end to end: the real program, its HTTP interface. */
import { expect, test } from "vitest";
import { serve } from "../../../harness/serve.ts";

test("requests beyond the limit are 429 after authentication, per token, with RateLimit headers", async () => {
  await using served = await serve({ env: { MILLRACE_RATE_LIMIT: "3", MILLRACE_RATE_WINDOW_SECONDS: "600" } });
  const { observabilityBaseUrl, accessToken } = served.credentials;
  const ask = (token: string) =>
    fetch(`${observabilityBaseUrl}/api/v2/charts/series`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({
        startTime: 1_714_557_600_000,
        endTime: 1_714_561_200_000,
        series: [{ sourceId: "64f000000000000000000000", aggFn: "count", where: "", groupBy: [] }],
      }),
    });
  const remaining: (string | null)[] = [];
  for (let i = 0; i < 3; i += 1) {
    const answer = await ask(accessToken);
    expect(answer.status).toBe(404);
    remaining.push(answer.headers.get("ratelimit-remaining"));
  }
  expect(remaining).toEqual(["2", "1", "0"]);
  const refused = await ask(accessToken);
  expect(refused.status).toBe(429);
  const body = (await refused.json()) as { message: string; error: string; code: string };
  expect(body).toMatchObject({ code: "TOO_MANY_REQUESTS", error: body.message });
  expect(refused.headers.get("ratelimit-limit")).toBe("3");
  expect(refused.headers.get("ratelimit-remaining")).toBe("0");
  expect(refused.headers.get("ratelimit-policy")).toContain("600");
  const reset = Number(refused.headers.get("ratelimit-reset"));
  expect(reset).toBeGreaterThan(0);
  expect(Number(refused.headers.get("retry-after"))).toBe(Math.ceil(reset));

  // An unknown caller gets 401, whatever the limit, and learns nothing about it.
  const stranger = await ask(`${accessToken}x`);
  expect([stranger.status, stranger.headers.get("ratelimit-limit")]).toEqual([401, null]);
});
