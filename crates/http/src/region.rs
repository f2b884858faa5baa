//! Memory of one large body.

use std::io;

use bytes::Bytes;
use memmap2::{MmapMut, MmapOptions};

/// The address space of a body whose length is not announced. It grows beyond if longer bodies are allowed.
pub(crate) const USUAL_LIMIT: usize = 64 * 1024 * 1024;

/// Bytes in separate pages, outside the allocator: a page takes memory when the first byte of it is written, and the
/// system has all of them back in the end.
#[derive(Debug)]
pub(crate) struct Region {
    pages: MmapMut,
    length: usize,
}

impl Region {
    /// Address space for this many bytes.
    ///
    /// # Errors
    /// If the system has no more, or no more mappings.
    pub(crate) fn new(capacity: usize) -> io::Result<Self> {
        let pages = MmapOptions::new().len(capacity).no_reserve_swap().map_anon()?;
        // A page of 2 MiB would take memory for bytes that may never arrive. A system without them refuses the advice.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::NoHugePage);
        Ok(Self { pages, length: 0 })
    }

    /// Makes room for this many bytes in all.
    ///
    /// # Errors
    /// See [`Region::new`].
    pub(crate) fn grow(&mut self, capacity: usize) -> io::Result<()> {
        if capacity > self.pages.len() {
            let mut grown = Self::new(capacity.max(self.pages.len().saturating_mul(2)))?;
            grown.put(self.as_ref());
            *self = grown;
        }
        Ok(())
    }

    /// Appends bytes, for which there must be room.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.pages[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Region {
    fn as_ref(&self) -> &[u8] {
        &self.pages[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_holds_what_was_put_and_grows() {
        let mut region = Region::new(10).unwrap();
        region.put(b"0123456789");
        region.grow(10).unwrap();
        assert_eq!(region.pages.len(), 10);
        region.grow(11).unwrap();
        assert_eq!(region.pages.len(), 20);
        region.put(b"abc");
        assert_eq!(region.into_bytes(), "0123456789abc");
    }

    #[test]
    fn without_address_space_there_is_an_error() {
        assert!(Region::new(usize::MAX / 2).is_err());
    }
}
