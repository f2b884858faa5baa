//! `--store` of a build that has none.

use std::path::PathBuf;
use std::time::Duration;

use crate::args::features::lacking;
use crate::exit::Failure;

/// There is none.
#[derive(Debug)]
pub(crate) enum Store {}

impl Store {
    pub(super) fn new(_: &str, _: &[PathBuf], _: Duration, _: Option<&str>, _: Option<&str>) -> Result<Self, Failure> {
        lacking("--store", "redis")
    }

    pub(crate) fn open_files(&self) -> u64 {
        match *self {}
    }
}
