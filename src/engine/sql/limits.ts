/** Bytes of a statement that the engine parses (`max_query_size`); data of an INSERT does not count. */
export const maxStatementBytes = 262_144;
