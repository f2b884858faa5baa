/** The blocks of the README that are files: their first line is a comment with the name. */
export const filesOf = (readme) =>
  [...readme.matchAll(/^```(?:js|ts)\n(\/\/ (\S+)\n[^]*?)^```$/gm)].map(([, code, name]) => ({ name, code }));
