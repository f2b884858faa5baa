//! Files that are committed and can be made again.

use std::fs;
use std::path::Path;

/// Compares a committed file with its content as it is made now. Writes the file instead if this variable of the
/// environment is set.
///
/// # Panics
///
/// If the file is another one, naming the variable.
#[track_caller]
pub fn assert_committed(path: impl AsRef<Path>, made: impl AsRef<[u8]>, variable: &str) {
    let (path, made) = (path.as_ref(), made.as_ref());
    if std::env::var_os(variable).is_some() {
        return fs::write(path, made).expect("the file can be written");
    }
    let committed = fs::read(path).unwrap_or_default();
    assert!(committed == made, "{} is out of date: run this test with {variable}=1", path.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");

    #[test]
    fn a_file_with_the_same_content_is_up_to_date() {
        assert_committed(README, include_str!("../README.md"), "UPDATE_NOTHING");
    }

    #[test]
    #[should_panic(expected = "README.md is out of date: run this test with UPDATE_NOTHING=1")]
    fn a_file_with_other_content_is_out_of_date() {
        assert_committed(README, "", "UPDATE_NOTHING");
    }
}
