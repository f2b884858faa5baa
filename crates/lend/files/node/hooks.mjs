// The hook of `register.mjs` for a Node that runs hooks on a separate thread.
let own, isFirst;

export function initialize(data) {
  ({ own, isFirst } = data);
}

const isMissing = (error) =>
  /^Cannot find (package|module) 'protomcp['/]/.test(error?.message) && /MODULE_NOT_FOUND$/.test(error.code);

export async function resolve(name, context, next) {
  const url = own.get(name);
  if (!url) return next(name, context);
  const lent = { url, format: "module", shortCircuit: true };
  if (isFirst) return lent;
  try {
    return await next(name, context);
  } catch (error) {
    if (isMissing(error)) return lent;
    throw error;
  }
}
