//! The rows about skills, which the user of a server names.

/// Bounds on folders of skills, and on the lists that are made of them.
pub(crate) const SKILLS: &[(&str, &str, &str)] = &[
    ("**Skills**", "", ""),
    (
        "a skill",
        "{crates/skills/src/limits.rs MAX_FILES count} files, {crates/skills/src/limits.rs MAX_SKILL_BYTES bytes} (SEP-2640)",
        "",
    ),
    (
        "all skills of a server, which are kept in memory",
        "{crates/skills/src/limits.rs MAX_SKILLS count}, with {crates/skills/src/limits.rs MAX_TREE_BYTES bytes}",
        "",
    ),
    (
        "folders of skills",
        "{crates/skills/src/limits.rs MAX_NAMES count} files and folders, {crates/skills/src/limits.rs MAX_DEPTH count} deep",
        "",
    ),
    (
        "folders of skills that a tool process names",
        "{crates/bridge/src/skill_folders.rs MAX_FOLDERS count}, with paths of {crates/bridge/src/skill_folders.rs MAX_PATH bytes}",
        "",
    ),
    ("the URI of a file", "{crates/skills/src/limits.rs MAX_URI bytes}", ""),
    (
        "a frontmatter",
        "{crates/skills/src/limits.rs MAX_FRONTMATTER bytes}, {crates/skills/src/limits.rs MAX_YAML_NODES count} values, {crates/skills/src/limits.rs MAX_YAML_DEPTH count} deep",
        "",
    ),
    ("a page of entries", "{crates/skills/src/limits.rs PAGE_BYTES bytes}, and the rest of its last entry", ""),
];
