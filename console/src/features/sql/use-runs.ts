/** Running the statements of the page: one at a time. */
import { useRef, useState } from "react";
import { refetch } from "../../api/queries.ts";
import type { QueryRun, RunState } from "../../grid/query-run.ts";
import { toastError } from "../../parts/toast.tsx";
import { keepPast } from "./history.ts";

export type RunMessage = { readonly id: number; readonly state: RunState };

export type Runs = {
  /** The newest statement, which runs or has ended. */
  readonly run: QueryRun | undefined;
  /** Ended statements, newest first. */
  readonly messages: readonly RunMessage[];
  /** Runs statements one after the other until one fails. `from`: place of each in the editor's text. */
  start(
    serviceId: string,
    parts: readonly { readonly text: string; readonly from: number }[],
    params: Readonly<Record<string, string>>,
  ): void;
  /** False if nothing runs. */
  cancel(): boolean;
};

const keptMessages = 200;

/** With `mayKeep`, the server keeps what has run. */
export function useRuns(mayKeep: boolean, onEnd: (state: RunState, from: number) => void): Runs {
  const [run, setRun] = useState<QueryRun>();
  const [messages, setMessages] = useState<readonly RunMessage[]>([]);
  const current = useRef<QueryRun>(undefined);
  const count = useRef(0);

  const start = async (...[serviceId, parts, params]: Parameters<Runs["start"]>) => {
    const { QueryRun } = await import("../../grid/query-run.ts");
    current.current?.cancel();
    for (const { text, from } of parts) {
      const made = new QueryRun({ serviceId, query: text, params });
      current.current = made;
      setRun(made);
      const state = await made.run();
      count.current += 1;
      const message = { id: count.current, state };
      setMessages((before) => [message, ...before].slice(0, keptMessages));
      onEnd(state, from);
      if (mayKeep) void keepPast(serviceId, state);
      void refetch("listQueries", "listServices");
      if (/^\s*(create|drop|alter|rename|insert|truncate|exchange|attach|detach)\b/i.test(text))
        void refetch("listTables");
      if (state.status !== "done" || current.current !== made) return;
    }
  };
  const cancel = () => {
    if (current.current?.state.get().status !== "running") return false;
    current.current.cancel();
    return true;
  };
  return { run, messages, start: (...args) => void start(...args).catch(toastError), cancel };
}
