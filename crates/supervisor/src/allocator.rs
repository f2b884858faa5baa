//! A setting of the memory allocator, for servers whose memory is bounded by the bytes that they keep.
//!
//! The allocator of glibc maps large blocks and returns them to the system when they are freed. After the first one it
//! raises the size from which it does, up to 32 MiB, and takes smaller ones from heaps of which it returns only the end:
//! a server that has kept 512 MiB in messages of 8 MiB can have 300 MiB more from the system than it uses.

/// Returns each block of 256 KiB or more to the system as soon as it is freed, from now on and in all threads. Costs a
/// system call for each of them. Does nothing with other allocators than that of glibc.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    crate::os::map_blocks(256 * 1024);
}
