/** Protobuf messages of tests as another implementation writes them, in the registry's framing. */
import protobuf from "protobufjs";

export type TestSchema = {
  readonly text: string;
  /** A zero byte, the id, the path of the first message, and the value as a message of `type`. */
  message(id: number, type: string, value: Record<string, unknown>): Buffer;
};

const files = ["timestamp", "duration", "wrappers", "struct"];

export function protobufSchema(text: string): TestSchema {
  const { root } = protobuf.parse(text, { keepCase: true });
  for (const file of files) {
    const json = protobuf.common.get(`google/protobuf/${file}.proto`);
    if (text.includes(`${file}.proto`) && json?.nested) root.addJSON(json.nested);
  }
  return {
    text,
    message: (id, type, value) => {
      const found = root.lookupType(type);
      return Buffer.concat([Buffer.from([0, 0, 0, 0, id, 0]), found.encode(found.fromObject(value)).finish()]);
    },
  };
}
