//! Bundles (`.mcpb`), which hosts install with a double click: an archive with a manifest, a program and its files.
//!
//! The same input gives the same bytes: the files are sorted, and have one date.

mod manifest;
mod zip;

pub use manifest::{BundleManifest, BundleSetting, registry_entry};
pub use zip::{Archive, ArchiveError, ArchiveFile, archive};
