//! A setting of the memory allocator, for servers whose memory is bounded by the bytes that they keep.
//!
//! The allocator of glibc maps large blocks and returns them to the system when they are freed. After the first one it
//! raises the size from which it does, up to 32 MiB, and takes smaller ones from heaps of which it returns only the end:
//! a server that has kept 512 MiB in messages of 8 MiB can have 300 MiB more from the system than it uses.

/// Lets the allocator map blocks of 256 KiB or more, from now on and in all threads, so that the system has each of
/// them back when it is freed. Costs two system calls for each. Does nothing with other allocators than the one of
/// glibc.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    crate::os::map_blocks(256 * 1024);
}
