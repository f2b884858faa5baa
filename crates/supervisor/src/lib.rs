//! Starts, stops and restarts one process politely, and leaves no orphan.
