/**
 * The result of `version()` for the engine that package.json pins, known without starting it. A test compares the two.
 */
export const packagedVersion = "26.7.2.1";
