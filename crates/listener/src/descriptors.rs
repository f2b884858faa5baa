//! The number of connections that the limit of open files allows.

/// Descriptors kept free for everything but connections: connections that are being closed (32), a second listener for
/// metrics (64), outgoing requests such as those to an authorization server (64), child processes with their pipes and
/// sockets (48), and the files, timers and sockets of the program itself.
pub(crate) const RESERVED: usize = 256;

/// The connections allowed under a limit of open files, at most `wanted`. A small limit keeps half of itself free.
pub(crate) fn connections(wanted: usize, limit: Option<u64>) -> usize {
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { return wanted };
    wanted.min(limit - RESERVED.min(limit / 2)).max(1)
}

/// The limit of open files of this process. `None`: unlimited, or not known.
pub(crate) fn limit() -> Option<u64> {
    #[cfg(unix)]
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let limit = None;
    limit
}

/// True if `accept` failed because this process or the system has no descriptor left.
pub(crate) fn are_exhausted(error: &std::io::Error) -> bool {
    #[cfg(unix)]
    let exhausted =
        matches!(rustix::io::Errno::from_io_error(error), Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE));
    #[cfg(not(unix))]
    let exhausted = {
        let _ = error;
        false
    };
    exhausted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        for (wanted, limit, expected) in [
            (20_000, None, 20_000),
            (20_000, Some(1_000_000), 20_000),
            (20_000, Some(20_256), 20_000),
            (20_000, Some(20_255), 19_999),
            (20_000, Some(1024), 768),
            (20_000, Some(512), 256),
            (20_000, Some(256), 128),
            (64, Some(1024), 64),
            (20_000, Some(0), 1),
            (20_000, Some(u64::MAX), 20_000),
        ] {
            assert_eq!(connections(wanted, limit), expected, "{wanted} under {limit:?}");
        }
    }
}
