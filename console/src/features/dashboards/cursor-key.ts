/** All charts of a dashboard move one cursor. */
export const cursorKey = "dashboard";
