#![doc = include_str!("../README.md")]

mod file_name;
mod folder;
mod frontmatter;
mod limits;
mod load;
mod load_error;
mod media_type;
mod omission;
mod skill_file;
mod tree;

pub use frontmatter::{Frontmatter, FrontmatterError};
pub use limits::{
    MAX_DEPTH, MAX_DESCRIPTION, MAX_FILES, MAX_FRONTMATTER, MAX_NAME, MAX_NAMES, MAX_SKILL_BYTES, MAX_SKILLS,
    MAX_TREE_BYTES, MAX_URI, PAGE_BYTES,
};
pub use load_error::LoadError;
pub use omission::{Omission, Omitted};
pub use skill_file::SkillFile;
pub use tree::SkillTree;
