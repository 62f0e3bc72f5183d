import { expect, test } from "vitest";
import { parseLocal, timeText, zoneText } from "./zone.ts";

const winter = Date.UTC(2026, 0, 15, 12);
const summer = Date.UTC(2026, 6, 15, 12);

test("a time is text in the zone, which is named with its distance at that time", () => {
  expect(timeText(winter, "UTC")).toBe("2026-01-15 12:00:00");
  expect(timeText(winter, "Europe/Berlin")).toBe("2026-01-15 13:00:00");
  expect(timeText(summer, "Asia/Kolkata")).toBe("2026-07-15 17:30:00");
  expect(timeText(Number.NaN)).toBe("");
  expect(zoneText(winter, winter, "UTC")).toBe("UTC");
  expect(zoneText(winter, winter, "Europe/Berlin")).toBe("Europe/Berlin (UTC+1)");
  expect(zoneText(summer, summer, "America/St_Johns")).toBe("America/St_Johns (UTC-2:30)");
  expect(zoneText(summer, winter, "Europe/Berlin")).toBe("Europe/Berlin (UTC+2, then UTC+1)");
});

test.each(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"])(
  "text in %s is read as it was written",
  (zone) => {
    for (const time of [winter, summer, Date.UTC(2026, 2, 29, 0, 30), Date.UTC(2026, 9, 25, 3)]) {
      expect(parseLocal(timeText(time, zone).replace(" ", "T"), zone)).toBe(time);
    }
    expect(parseLocal("2026-13-01T00:00", zone)).toBeNaN();
  },
);
