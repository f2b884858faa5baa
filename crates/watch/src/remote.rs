//! Detects file systems that other machines write to without a local notification.
//!
//! Network mounts, and the shares through which virtual machines and containers see their host's files (WSL's `/mnt/c`,
//! Docker Desktop's mounts), accept a request for notifications and then send none for remote writes.

use std::path::Path;

/// True if the directory is on such a file system; false if unknown.
#[cfg(target_os = "linux")]
pub(crate) fn is_shared(directory: &Path) -> bool {
    // The type is as wide as a word, the numbers are 32 bits.
    rustix::fs::statfs(directory).is_ok_and(|statistics| SHARED.contains(&(statistics.f_type as u32)))
}

/// True if the directory is on such a file system; false if unknown.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_shared(_: &Path) -> bool {
    false
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
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_of_the_kernel_itself_is_not_shared() {
        assert!(!is_shared(Path::new("/proc")));
    }
}
