//! Lending to Python, through its search path.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::LendError;
use crate::source::SdkSource;

/// The variable with folders that Python searches before its own.
pub(crate) const VARIABLE: &str = "PYTHONPATH";

/// The value of the variable that makes the SDK in `folder` importable. `present` is the present value.
///
/// `lent` holds a package that gives way to any other of its name: at the end of this variable it is still before the
/// packages that are installed.
pub(crate) fn search_path(source: SdkSource, folder: &Path, present: Option<&OsStr>) -> Result<OsString, LendError> {
    let present = present.filter(|value| !value.is_empty()).map(|value| env::split_paths(value).collect::<Vec<_>>());
    let present = present.unwrap_or_default();
    let (lent, bundled) = (folder.join("lent"), folder.join("sdk"));
    // A tool may start this program, too.
    let others = present.into_iter().filter(|path| *path != lent && *path != bundled);
    let all: Vec<PathBuf> = match source {
        SdkSource::Bundled => [bundled.clone()].into_iter().chain(others).collect(),
        SdkSource::Auto | SdkSource::Installed => others.chain([lent.clone()]).collect(),
    };
    env::join_paths(all).map_err(|_| LendError::Unusable(folder.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lent_package_is_last_and_the_bundled_one_first() {
        let path = |source, present: Option<&str>| {
            search_path(source, Path::new("/c"), present.map(OsStr::new)).unwrap().into_string().unwrap()
        };
        for (present, auto, bundled) in [
            (None, "/c/lent", "/c/sdk"),
            (Some(""), "/c/lent", "/c/sdk"),
            (Some("/a:/b"), "/a:/b:/c/lent", "/c/sdk:/a:/b"),
            (Some("/a:"), "/a::/c/lent", "/c/sdk:/a:"),
            (Some("/c/lent:/a"), "/a:/c/lent", "/c/sdk:/a"),
            (Some("/c/sdk:/a"), "/a:/c/lent", "/c/sdk:/a"),
        ] {
            assert_eq!(path(SdkSource::Auto, present), auto, "{present:?}");
            assert_eq!(path(SdkSource::Bundled, present), bundled, "{present:?}");
        }
        assert!(matches!(search_path(SdkSource::Auto, Path::new("/c:d"), None), Err(LendError::Unusable(_))));
    }
}
