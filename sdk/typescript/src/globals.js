/**
 * Log messages and changes that are sent at any time, outside of handlers, too.
 *
 * @module
 */

import { makeLog, makeToolList } from "./session/context.js";
import { currentSession } from "./run.js";

/** @import { Log, ToolList } from "./types.js" */

/**
 * Sends log messages to the clients: to the one that has called, if only one call runs. In a handler, `context.log`
 * names its call.
 *
 * @type {Log}
 */
export const log = makeLog((level, data, logger) => currentSession()?.log(level, data, logger));

/**
 * Shows and hides tools. In a handler, `context.tools` names its call, so that only the list of its session changes.
 *
 * @type {ToolList}
 */
export const toolManager = /** @type {ToolList} */ (
  new Proxy(
    {},
    {
      get: (_, method) => {
        const session = currentSession();
        if (!session) throw new Error("the list of tools can be changed when the tools are served");
        return makeToolList(session, "")[/** @type {keyof ToolList} */ (method)];
      },
    },
  )
);

/**
 * Tells the clients that have subscribed to a resource that it has changed.
 *
 * @param {string} uri
 */
export const resourceChanged = (uri) => currentSession()?.resourceChanged(uri);
