//! How many connections the limit of open files leaves room for.

/// Descriptors that are kept for everything else: connections that are just being closed (32), a listener for metrics
/// (64), requests to an authorization server (64), tool processes with their pipes and sockets (48), and the files, timers
/// and sockets of the program itself.
pub(super) const RESERVED: usize = 256;

/// How many of the connections that were asked for fit under a limit of open files. A limit that is small leaves half of
/// itself.
pub(super) fn connections(wanted: usize, limit: Option<u64>) -> usize {
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { return wanted };
    wanted.min(limit - RESERVED.min(limit / 2)).max(1)
}

/// The limit of open files of this process. `None`: there is none, or it is not known.
pub(super) fn limit() -> Option<u64> {
    #[cfg(unix)]
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let limit = None;
    limit
}

/// Whether the system has no descriptor left for a connection: for this process, or for all.
pub(super) fn are_exhausted(error: &std::io::Error) -> bool {
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
