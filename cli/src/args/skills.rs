//! The flag for skills, which a server has in addition to its tools.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

/// The flag. In the file of settings its paths are relative to the file.
pub(super) const SKILLS: &str = "skills";

/// The folders of skills.
#[derive(Debug, Args)]
pub(super) struct SkillFlags {
    /// Serve the skills in this directory: each folder with a SKILL.md in it, or the directory itself; may be repeated.
    /// `pmcp dev` loads them again after each save, and both on SIGHUP
    #[arg(long = SKILLS, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(directory))]
    pub(super) folders: Vec<PathBuf>,

    /// Saves are noticed.
    #[arg(skip)]
    pub(super) is_watched: bool,
}

/// A directory that can be loaded.
fn directory(path: PathBuf) -> Result<PathBuf, String> {
    if path.is_dir() { Ok(path) } else { Err("it is not a directory".to_owned()) }
}
