//! Lending to Node, through a hook, and to Bun, through its search path.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::LendError;
use crate::source::SdkSource;

/// The variable with options of Node, which its child processes inherit.
pub(crate) const OPTIONS: &str = "NODE_OPTIONS";

/// The variable with folders that are searched when no `node_modules` has the package.
pub(crate) const SEARCH_PATH: &str = "NODE_PATH";

/// The options of Node with the hook of the SDK in `folder`, after the `present` ones: a loader of the user comes first.
pub(crate) fn options(source: SdkSource, folder: &Path, present: Option<&OsStr>) -> OsString {
    let query = if source == SdkSource::Bundled { "?bundled" } else { "" };
    let hook = format!("--import {}{query}", file_url(&folder.join("register.mjs")));
    let mut all = present.unwrap_or_default().to_owned();
    // A tool may start this program, too.
    if !all.to_string_lossy().ends_with(&hook) {
        all.push(if all.is_empty() { "" } else { " " });
        all.push(hook);
    }
    all
}

/// The search path of Bun with the SDK in `folder`, after the `present` one.
pub(crate) fn search_path(folder: &Path, present: Option<&OsStr>) -> Result<OsString, LendError> {
    let present = present.filter(|value| !value.is_empty()).map(|value| env::split_paths(value).collect::<Vec<_>>());
    let modules = folder.join("modules");
    let others = present.unwrap_or_default().into_iter().filter(|path| *path != modules);
    let all: Vec<PathBuf> = others.chain([modules.clone()]).collect();
    env::join_paths(all).map_err(|_| LendError::Unusable(folder.to_owned()))
}

/// The installed SDK in a `node_modules` of the file's folder or one above it, where Node looks for packages.
pub(crate) fn installed(file: &Path) -> Option<PathBuf> {
    // Node looks from the file that a link leads to.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut packages = file.ancestors().skip(1).map(|folder| folder.join("node_modules/protomcp"));
    packages.find(|package| package.join("package.json").is_file())
}

/// The URL of an absolute path, as Node takes it for modules.
#[must_use]
pub fn file_url(path: &Path) -> String {
    let mut url = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => url.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_hook_follows_the_options_of_the_user() {
        let value = |source, folder: &str, present: Option<&str>| {
            options(source, Path::new(folder), present.map(OsStr::new)).into_string().unwrap()
        };
        let hook = "--import file:///c/register.mjs";
        assert_eq!(value(SdkSource::Auto, "/c", None), hook);
        assert_eq!(value(SdkSource::Auto, "/c", Some("")), hook);
        assert_eq!(value(SdkSource::Auto, "/c", Some("--no-warnings")), format!("--no-warnings {hook}"));
        assert_eq!(value(SdkSource::Auto, "/c", Some(hook)), hook, "once is enough");
        assert_eq!(value(SdkSource::Bundled, "/c", None), format!("{hook}?bundled"));
        assert_eq!(
            value(SdkSource::Auto, "/a b/\"ü%#?\\", None),
            "--import file:///a%20b/%22%C3%BC%25%23%3F%5C/register.mjs"
        );
    }

    #[test]
    fn the_search_path_ends_with_the_lent_package() {
        let path = |present: Option<&str>| search_path(Path::new("/c"), present.map(OsStr::new)).unwrap();
        assert_eq!(path(None), "/c/modules");
        assert_eq!(path(Some("/a:/b")), "/a:/b:/c/modules");
        assert_eq!(path(Some("/c/modules:/a")), "/a:/c/modules");
        assert!(matches!(search_path(Path::new("/c:d"), None), Err(LendError::Unusable(_))));
    }

    #[test]
    fn an_installed_package_is_found_as_node_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("project/deep")).unwrap();
        fs::write(at("project/deep/tools.js"), "").unwrap();
        symlink(at("project/deep/tools.js"), at("link.js")).unwrap();
        let found = || ["project/deep/tools.js", "link.js"].map(|file| installed(&at(file)).is_some());
        assert_eq!(found(), [false, false]);
        fs::create_dir_all(at("project/node_modules/protomcp")).unwrap();
        assert_eq!(found(), [false, false], "an empty folder is not a package");
        fs::write(at("project/node_modules/protomcp/package.json"), "{}").unwrap();
        assert_eq!(found(), [true, true]);
    }
}
