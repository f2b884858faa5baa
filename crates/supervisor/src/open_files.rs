//! The limit of open files: raised for a server, and restored for its children.
//!
//! The soft limit is low on most systems because programs that use `select` fail with more than 1,024 descriptors, and
//! some close every possible descriptor one by one. A program without these problems may raise it for itself. Processes
//! that [`Process::spawn`](crate::Process::spawn) starts get the original limit.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The original soft limit of this process, if it was raised.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit of open files (`RLIMIT_NOFILE`) to this number, or as far as the hard limit allows, and
/// returns the new limit. A higher limit stays unchanged.
///
/// ```
/// let limit = protomcp_supervisor::open_files::raise(1024)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the system refuses.
pub fn raise(wanted: u64) -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    match raised(&limit, wanted) {
        None => Ok(limit.current.unwrap_or(u64::MAX)),
        Some((before, after)) => {
            // The first call counts: later ones start from our own limit.
            BEFORE.get_or_init(|| before);
            setrlimit(Resource::Nofile, Rlimit { current: Some(after), maximum: limit.maximum })?;
            Ok(after)
        }
    }
}

/// The soft limit before and after, if it changes.
fn raised(limit: &Rlimit, wanted: u64) -> Option<(u64, u64)> {
    let before = limit.current?;
    let after = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    (after > before).then_some((before, after))
}

/// The soft limit for child processes, if it differs from ours.
pub(crate) fn before() -> Option<u64> {
    BEFORE.get().copied()
}

/// Sets the soft limit of this process. Makes two system calls and allocates nothing.
pub(crate) fn set(soft: u64) -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_rises_as_far_as_the_hard_one() {
        for (current, maximum, wanted, expected) in [
            (Some(1024), Some(4096), 2000, Some((1024, 2000))),
            (Some(1024), Some(4096), 20_000, Some((1024, 4096))),
            (Some(1024), None, 20_000, Some((1024, 20_000))),
            (Some(4096), Some(4096), 20_000, None),
            (Some(30_000), Some(40_000), 20_000, None),
            (None, None, 20_000, None),
        ] {
            assert_eq!(raised(&Rlimit { current, maximum }, wanted), expected, "{current:?} of {maximum:?}");
        }
    }
}
