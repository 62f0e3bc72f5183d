import { afterEach, expect, test } from "vitest";
import { browserZone, zoneStore } from "../../lib/zone.ts";
import { fieldsOfRow } from "./row.ts";

afterEach(() => zoneStore.set(browserZone));

test("times are shown in the zone of the console, and filters compare them as the engine writes them", () => {
  zoneStore.set("Asia/Tokyo");
  const row = { at: "2026-01-02 20:00:00.125000", there: "2026-01-02 20:00:00", day: "2026-01-02", map: { a: 1 } };
  const columns = [
    { name: "at", type: "DateTime64(6)" },
    { name: "there", type: "Nullable(DateTime('Europe/Berlin'))" },
    { name: "day", type: "Date" },
    { name: "map", type: "Map(String, UInt8)" },
  ];
  expect(fieldsOfRow(columns, row)).toEqual([
    { field: "at", text: "2026-01-02 20:00:00.125000", shown: "2026-01-03 05:00:00.125" },
    { field: "there", text: "2026-01-02 20:00:00", shown: "2026-01-03 04:00:00" },
    { field: "day", text: "2026-01-02", shown: "2026-01-02" },
    { field: "map.a", text: "1", shown: "1" },
  ]);
});
