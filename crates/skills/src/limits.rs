//! The bounds of skills. SECURITY.md states them.

/// The most files of a skill, `SKILL.md` and the files of nested skills included (SEP-2640, "Limits").
pub const MAX_FILES: usize = 512;

/// The most bytes of a skill's files (SEP-2640, "Limits").
pub const MAX_SKILL_BYTES: u64 = 16 * 1024 * 1024;

/// The most bytes of the files of all skills of a server. They are kept in memory.
pub const MAX_TREE_BYTES: u64 = 64 * 1024 * 1024;

/// The most skills of a server, nested ones included.
pub const MAX_SKILLS: usize = 1024;

/// The most folders between a folder that is loaded and a file.
pub const MAX_DEPTH: usize = 16;

/// The most names that are looked at in all folders, of files that are not part of a skill, too.
pub const MAX_NAMES: usize = 16 * 1024;

/// The longest URI of a file, in bytes.
pub const MAX_URI: usize = 1024;

/// The longest frontmatter, in bytes.
pub const MAX_FRONTMATTER: usize = 64 * 1024;

/// The deepest nesting of a frontmatter.
pub(crate) const MAX_YAML_DEPTH: usize = 32;

/// The most values of a frontmatter.
pub(crate) const MAX_YAML_NODES: usize = 4096;

/// The longest name of a skill, in characters (Agent Skills, "name").
pub const MAX_NAME: usize = 64;

/// The longest description of a skill, in characters (Agent Skills, "description").
pub const MAX_DESCRIPTION: usize = 1024;

/// The bytes after which a page of a list ends. An entry is never split, so a page with one entry may be longer.
pub const PAGE_BYTES: usize = 256 * 1024;
