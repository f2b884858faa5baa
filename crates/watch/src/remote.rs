//! Detects files that are written to without a local notification.
//!
//! Network mounts, and the shares through which virtual machines and containers see their host's files (WSL's `/mnt/c`,
//! Docker Desktop's mounts), accept a request for notifications and then send none for remote writes. A file that is mounted
//! by itself (`docker run -v $PWD/tools.py:/app/tools.py`) belongs to the directory that it comes from: the directory in which
//! it appears has no notification of its changes.

use std::path::Path;

/// True if the directory is on a file system that other machines write to; false if unknown.
#[cfg(target_os = "linux")]
pub(crate) fn is_shared(directory: &Path) -> bool {
    // The type is as wide as a word, the numbers are 32 bits.
    rustix::fs::statfs(directory).is_ok_and(|statistics| SHARED.contains(&(statistics.f_type as u32)))
}

/// True if the directory is on a file system that other machines write to; false if unknown.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_shared(_: &Path) -> bool {
    false
}

/// True if its directory may have no notification of a write to the file; false if unknown. The links of the directory are
/// resolved.
#[cfg(target_os = "linux")]
pub(crate) fn is_silent(file: &Path) -> bool {
    file.parent().is_some_and(|directory| may_be_silent(Place::of(file), Place::of(directory)))
}

/// True if its directory may have no notification of a write to the file; false if unknown.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_silent(_: &Path) -> bool {
    false
}

/// The file system and the mount of a path.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
struct Place {
    is_shared: bool,
    device: u64,
    /// `None` before Linux 5.8.
    mount: Option<u64>,
}

#[cfg(target_os = "linux")]
impl Place {
    /// The place of the path, `None` if it does not exist. Mount and device of a link are its own, and it is shared if its
    /// target is: its file changes there.
    fn of(path: &Path) -> Option<Self> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        use std::os::unix::fs::MetadataExt;
        let device = path.symlink_metadata().ok()?.dev();
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID).ok();
        let known = found.filter(|found| found.stx_mask & StatxFlags::MNT_ID.bits() != 0);
        Some(Self { is_shared: is_shared(path), device, mount: known.map(|found| found.stx_mnt_id) })
    }
}

/// True if a write to a file here may raise no notification in its directory there.
#[cfg(target_os = "linux")]
fn may_be_silent(file: Option<Place>, directory: Option<Place>) -> bool {
    if [file, directory].into_iter().flatten().any(|place| place.is_shared) {
        return true;
    }
    let (Some(file), Some(directory)) = (file, directory) else { return false };
    match (file.mount, directory.mount) {
        (Some(file), Some(directory)) => file != directory,
        // The file system of a container gives files and directories of one mount different devices, so mounts come first.
        (Some(_), None) | (None, _) => file.device != directory.device,
    }
}

/// Numbers by which Linux's statfs(2) names file systems.
#[cfg(target_os = "linux")]
const SHARED: [u32; 10] = [
    0x0000_6969, // NFS
    0x0000_517b, // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB 2 and later
    0x0102_1997, // 9P: WSL, and some virtual machines
    0x6573_5546, // FUSE: sshfs, virtiofs, Docker Desktop
    0x786f_4256, // VirtualBox shared folders
    0xbacb_acbc, // VMware shared folders
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_is_not_shared() {
        assert!(!is_shared(Path::new("no/such/directory")));
        assert!(!is_silent(Path::new("no/such/directory/tools.py")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_of_the_kernel_itself_is_not_shared() {
        assert!(!is_shared(Path::new("/proc")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_is_silent_on_a_share_and_on_another_mount() {
        let local = |device, mount| Some(Place { is_shared: false, device, mount });
        let shared = |mount| Some(Place { is_shared: true, device: 1, mount: Some(mount) });
        for (case, file, directory, expected) in [
            ("in its directory", local(1, Some(1)), local(1, Some(1)), false),
            ("mounted from the same disk", local(1, Some(2)), local(1, Some(1)), true),
            ("mounted from another disk", local(2, Some(2)), local(1, Some(1)), true),
            ("in a layer of a container", local(2, Some(1)), local(1, Some(1)), false),
            ("in its directory, before Linux 5.8", local(1, None), local(1, None), false),
            ("mounted from another disk, before Linux 5.8", local(2, None), local(1, None), true),
            ("mounted from a share", shared(2), local(1, Some(1)), true),
            ("on a share", shared(1), shared(1), true),
            ("missing on a share", None, shared(1), true),
            ("missing", None, local(1, Some(1)), false),
            ("missing like its directory", None, None, false),
        ] {
            assert_eq!(may_be_silent(file, directory), expected, "{case}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_mounts_of_real_files_are_known() {
        assert!(is_silent(Path::new("/proc")), "it is mounted in the directory `/`");
        assert!(!is_silent(Path::new("/proc/version")));
    }
}
