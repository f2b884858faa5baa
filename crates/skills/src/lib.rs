#![doc = include_str!("../README.md")]

mod file_name;
mod folder;
mod folders;
mod frontmatter;
mod layer;
mod limits;
mod load;
mod load_error;
mod media_type;
mod omission;
mod reload;
mod serve;
mod skill_file;
mod skills;
mod tree;
mod yaml;

pub use folders::{FoldersError, ReloadOn, SkillFolders};
pub use frontmatter::{Frontmatter, FrontmatterError};
pub use layer::{SkillsLayer, WithSkills};
pub use limits::{
    MAX_DEPTH, MAX_DESCRIPTION, MAX_FILES, MAX_FRONTMATTER, MAX_NAME, MAX_NAMES, MAX_SKILL_BYTES, MAX_SKILLS,
    MAX_TREE_BYTES, MAX_URI, PAGE_BYTES,
};
pub use load_error::LoadError;
pub use omission::{Omission, Omitted};
#[doc(no_inline)]
pub use protomcp_schema::Page;
#[doc(no_inline)]
pub use protomcp_watch::WatchError;
pub use reload::SkillsReload;
pub use skill_file::SkillFile;
pub use skills::Skills;
pub use tree::SkillTree;
