#![doc = include_str!("../README.md")]

mod bundle;
mod change;
mod copies;
mod diff;
mod digest;
mod document;
mod drafts;
mod entry;
mod environment;
mod file;
mod hosts;
mod inherited;
mod install_error;
mod installer;
mod name;
mod receipts;
mod status;
mod value;

pub use bundle::{Archive, ArchiveError, ArchiveFile, BundleManifest, BundleSetting, archive, registry_entry};
pub use change::{Action, Edit, Restored};
pub use diff::diff;
pub use document::{EditError, Edited, Format, Origin, insert, remove, servers, without_comments};
pub use entry::{Server, snippet};
pub use environment::{Environment, Os};
pub use file::FileError;
pub use hosts::{Host, Scope, host, hosts};
pub use inherited::Inherited;
pub use install_error::InstallError;
pub use installer::Installer;
pub use name::{InvalidName, check_name, name_for};
pub use receipts::Recorded;
pub use status::{Found, Installed, ListedServer};
pub use value::Value;
