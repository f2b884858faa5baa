/**
 * Tools, resources and prompts for MCP, served by `pmcp`: see the README.
 *
 * @module
 */

import { runAfterMain } from "./run.js";

export { app } from "./declare/app.js";
export { audio, embedded, file, image, link, text } from "./content.js";
export { logConsole } from "./console.js";
export { AskError, TaskError, ToolError } from "./errors.js";
export { discover } from "./declare/discover.js";
export { toolGroup } from "./declare/group.js";
export { log, resourceChanged, toolManager } from "./globals.js";
export { handOver } from "./declare/handover.js";
export { onStart, onStop, shared } from "./declare/lifecycle.js";
export { middleware, use } from "./declare/middleware.js";
export { completion, prompt } from "./declare/prompt.js";
export { resource, resourceTemplate } from "./declare/resource.js";
export { ToolResult } from "./result.js";
export { sidecar } from "./declare/sidecar.js";
export { skills } from "./declare/skills.js";
export { telemetry } from "./declare/telemetry.js";
export { run } from "./run.js";
export { withJsonSchema } from "./schema/schema.js";
export { tool } from "./declare/tool.js";
export { VERSION } from "./version.js";
export { workflow } from "./declare/workflow.js";

runAfterMain();
