//! A server of MCP, used by a client of proto-mcp over a stream of bytes.

mod budgets;
mod calls;
mod detection;
mod endpoint;
mod ends;
mod lists;
mod stage;
