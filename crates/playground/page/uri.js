// URI templates (RFC 6570, of which levels 1 to 3 are filled in).

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;

/** @type {Record<string, {first: string, between: string, named: boolean, keeps: boolean}>} */
const OPERATORS = {
  "": { first: "", between: ",", named: false, keeps: false },
  "+": { first: "", between: ",", named: false, keeps: true },
  "#": { first: "#", between: ",", named: false, keeps: true },
  ".": { first: ".", between: ".", named: false, keeps: false },
  "/": { first: "/", between: "/", named: false, keeps: false },
  ";": { first: ";", between: ";", named: true, keeps: false },
  "?": { first: "?", between: "&", named: true, keeps: false },
  "&": { first: "&", between: "&", named: true, keeps: false },
};

/** @param {string} list */
function names(list) {
  return list.split(",").map((name) => name.trim().replace(/\*$|:\d+$/, "")).filter(Boolean);
}

/** The names of the variables, in their order. @param {string} template @returns {string[]} */
export function variables(template) {
  return [...new Set([...template.matchAll(EXPRESSION)].flatMap(([, , list]) => names(list)))];
}

/** @param {string} template @param {Record<string, string>} values @returns {string} */
export function expand(template, values) {
  return template.replaceAll(EXPRESSION, (_, operator, list) => {
    const { first, between, named, keeps } = OPERATORS[operator];
    const parts = names(list).filter((name) => (values[name] ?? "") !== "").map((name) => {
      const value = keeps ? encodeURI(values[name]) : encodeURIComponent(values[name]);
      return named ? `${name}=${value}` : value;
    });
    return parts.length ? first + parts.join(between) : "";
  });
}
