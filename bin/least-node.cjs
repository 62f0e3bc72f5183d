/** The oldest version of Node that runs the program. Plain CommonJS, so that every Node understands it. */
module.exports = 24;
