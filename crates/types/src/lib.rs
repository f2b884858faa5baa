//! The vocabulary of MCP: JSON-RPC messages, names, tools, content, versions.
