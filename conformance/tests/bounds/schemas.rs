//! The rows about schemas of proto-mcp.

/// Bounds on the messages of tools.
pub(crate) const SCHEMAS: &[(&str, &str, &str)] = &[
    ("**Schemas of proto-mcp**", "", ""),
    (
        "definitions of tools that are kept as messages of proto-mcp",
        "{crates/binary/src/descriptors/cache.rs MAX_DEFINITIONS count} of each server; those that are loaded take about {crates/binary/src/descriptors/loaded.rs MAX_LOADED bytes} together",
        "",
    ),
    (
        "time for loading a schema of proto-mcp, or for evaluating its rules",
        "{crates/binary/src/descriptors/budget.rs TIME time}; a rule that does not end keeps one of {crates/binary/src/descriptors/budget.rs THREADS count} threads, of which one tool gets a quarter, and so does one of several servers",
        "",
    ),
    (
        "threads that convert values above {crates/binary/src/serve/large_work.rs SMALL bytes} in proto-mcp",
        "one for each processor, at least two; half of them for one owner",
        "",
    ),
];
