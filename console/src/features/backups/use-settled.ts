import { useEffect, useState } from "react";

const pauseMs = 300;

/** The value of the last pause: it follows when nothing has changed for 300 ms. Values are compared as JSON. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  const isSettled = text === JSON.stringify(settled);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is the value
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return isSettled ? value : settled;
}
