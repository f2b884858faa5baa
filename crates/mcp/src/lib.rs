//! MCP sessions, services, layers, handlers and transports.
