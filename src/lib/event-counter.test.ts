/** Equal events are delivered once, with their count. */
import { expect, test } from "vitest";
import { type CountedEvent, EventCounter } from "./event-counter.ts";

type Event = { readonly who: string; readonly what: string };

test("equal events are one, different ones beyond a number are counted as one of their kind", () => {
  const flushed: CountedEvent<Event>[][] = [];
  const counter = new EventCounter<Event>({
    flush: (events) => flushed.push(events),
    overflow: (event) => ({ ...event, who: "(many)" }),
  });
  for (let i = 0; i < 1000; i += 1) counter.note({ who: "a", what: "x" });
  for (let i = 0; i < 2000; i += 1) counter.note({ who: `${i}`, what: "y" });
  counter.note({ who: "a", what: "x" });
  counter.flush();
  expect(flushed).toHaveLength(1);
  const [events = []] = flushed;
  expect(events).toHaveLength(501);
  expect(events[0]).toMatchObject({ event: { who: "a", what: "x" }, count: 1001 });
  expect(events.at(-1)).toMatchObject({ event: { who: "(many)", what: "y" }, count: 2000 - 499 });
  counter.flush();
  expect(flushed).toHaveLength(1);
});

test("events are handed on by themselves, and what was counted elsewhere is added up", async () => {
  const flushed: CountedEvent<Event>[] = [];
  const counter = new EventCounter<Event>({
    flush: (events) => flushed.push(...events),
    overflow: (event) => event,
    everyMs: 10,
  });
  const event = { who: "a", what: "x" };
  counter.add({ event, count: 5, firstAt: 100, lastAt: 200 });
  counter.add({ event, count: 2, firstAt: 50, lastAt: 150 });
  await expect.poll(() => flushed).toEqual([{ event, count: 7, firstAt: 50, lastAt: 200 }]);
});
