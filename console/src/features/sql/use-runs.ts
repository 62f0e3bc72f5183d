/** Running the statements of the page: one at a time in each tab. */
import { useEffect, useRef, useState } from "react";
import { refetch } from "../../api/queries.ts";
import type { QueryRun, RunState } from "../../grid/query-run.ts";
import { useStore } from "../../lib/store.ts";
import { toastError } from "../../parts/toast.tsx";
import { activeTab, tabsStore } from "./query-tabs.ts";

export type RunMessage = { readonly id: number; readonly state: RunState };

export type Runs = {
  /** The active tab. */
  readonly tabId: string;
  /** The newest statement of the active tab, which runs or has ended. */
  readonly run: QueryRun | undefined;
  /** Ended statements of all tabs, newest first. */
  readonly messages: readonly RunMessage[];
  /** Runs statements in the active tab until one fails. `from`: place of each in the editor's text. */
  start(
    serviceId: string,
    parts: readonly { readonly text: string; readonly from: number }[],
    params: Readonly<Record<string, string>>,
  ): void;
  /** False if nothing runs in the active tab. */
  cancel(): boolean;
};

const keptMessages = 200;

/** With `mayKeep`, the server keeps what has run. */
export function useRuns(mayKeep: boolean, onEnd: (state: RunState, from: number, tabId: string) => void): Runs {
  const [shown, setShown] = useState<ReadonlyMap<string, QueryRun>>(new Map());
  const [messages, setMessages] = useState<readonly RunMessage[]>([]);
  const runs = useRef(new Map<string, QueryRun>());
  const count = useRef(0);
  const opened = useStore(tabsStore);
  const { tabs } = opened;
  const { id: activeId } = activeTab(opened);
  useEffect(() => {
    for (const [tabId, closed] of runs.current) {
      if (tabs.some(({ id }) => id === tabId)) continue;
      closed.cancel();
      runs.current.delete(tabId);
      setShown(new Map(runs.current));
    }
  }, [tabs]);

  const start = async (...[serviceId, parts, params]: Parameters<Runs["start"]>) => {
    const { QueryRun } = await import("../../grid/query-run.ts");
    runs.current.get(activeId)?.cancel();
    for (const { text, from } of parts) {
      const made = new QueryRun({ serviceId, query: text, params });
      runs.current.set(activeId, made);
      setShown(new Map(runs.current));
      const state = await made.run();
      count.current += 1;
      const message = { id: count.current, state };
      setMessages((before) => [message, ...before].slice(0, keptMessages));
      onEnd(state, from, activeId);
      if (mayKeep) void import("./history.ts").then(({ keepPast }) => keepPast(serviceId, state));
      void refetch("listQueries", "listServices");
      if (/^\s*(create|drop|alter|rename|insert|truncate|exchange|attach|detach)\b/i.test(text))
        void refetch("listTables");
      if (state.status !== "done" || runs.current.get(activeId) !== made) return;
    }
  };
  const cancel = () => {
    const run = runs.current.get(activeId);
    if (run?.state.get().status !== "running") return false;
    run.cancel();
    return true;
  };
  return {
    tabId: activeId,
    run: shown.get(activeId),
    messages,
    start: (...args) => void start(...args).catch(toastError),
    cancel,
  };
}
