//! One tool process as one MCP server, with hot reload.
