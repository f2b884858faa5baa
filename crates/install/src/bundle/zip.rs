//! Archives in the format of ZIP (APPNOTE 6.3.10), without its extensions: no date, no file of 4 GiB, 65,534 files.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use thiserror::Error;

/// One file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFile {
    /// The path in the archive, with `/` between its parts.
    pub path: String,
    /// The contents.
    pub data: Vec<u8>,
    /// True for a program.
    pub is_executable: bool,
}

/// An archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// All of it.
    pub bytes: Vec<u8>,
    /// The path and the compressed size of each file, in bytes, sorted by the paths.
    pub sizes: Vec<(String, usize)>,
}

/// An archive has bounds.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// More than 65,534 files.
    #[error("there are {0} files, and an archive takes 65534")]
    TooManyFiles(usize),
    /// The archive would be larger than 4 GiB.
    #[error("the archive would be larger than 4 GiB")]
    TooLarge,
}

/// The archive of these files, sorted by their paths.
///
/// # Errors
///
/// If they exceed the bounds of the format.
pub fn archive(mut files: Vec<ArchiveFile>) -> Result<Archive, ArchiveError> {
    let count = u16::try_from(files.len()).ok().filter(|count| *count < u16::MAX);
    let count = count.ok_or(ArchiveError::TooManyFiles(files.len()))?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut body = Vec::new();
    let mut directory = Vec::new();
    let mut sizes = Vec::with_capacity(files.len());
    for file in files {
        let packed = deflate(&file.data);
        let common = common_header(&file, &packed)?;
        let offset = size(body.len())?;
        body.extend(LOCAL_FILE);
        body.extend(&common);
        body.extend(file.path.as_bytes());
        body.extend(&packed);
        let mode: u32 = if file.is_executable { 0o100_755 } else { 0o100_644 };
        directory.extend(DIRECTORY_FILE);
        // Made by version 3.0 on Unix, so that the mode counts.
        directory.extend([30, 3]);
        directory.extend(&common);
        // No comment, the first disk, no attributes of MS-DOS.
        directory.extend([0; 6]);
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(file.path.as_bytes());
        sizes.push((file.path, packed.len()));
    }
    let offset = size(body.len())?;
    let length = size(directory.len())?;
    body.extend(directory);
    body.extend(END);
    body.extend([0; 4]);
    body.extend(count.to_le_bytes());
    body.extend(count.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(offset.to_le_bytes());
    body.extend([0; 2]);
    size(body.len())?;
    Ok(Archive { bytes: body, sizes })
}

const LOCAL_FILE: [u8; 4] = *b"PK\x03\x04";
const DIRECTORY_FILE: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";

/// The part that both headers of a file have: from the version that is needed to the lengths of its name.
fn common_header(file: &ArchiveFile, packed: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    let name = u16::try_from(file.path.len()).map_err(|_| ArchiveError::TooLarge)?;
    let mut crc = Crc::new();
    crc.update(&file.data);
    let mut header = Vec::with_capacity(26);
    // Version 2.0; names are UTF-8; deflate; 00:00 on 1 January 1980.
    for word in [20_u16, 0x0800, 8, 0, 0x0021] {
        header.extend(word.to_le_bytes());
    }
    header.extend(crc.sum().to_le_bytes());
    header.extend(size(packed.len())?.to_le_bytes());
    header.extend(size(file.data.len())?.to_le_bytes());
    header.extend(name.to_le_bytes());
    header.extend([0; 2]);
    Ok(header)
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).and_then(|()| encoder.finish()).expect("memory takes everything")
}

fn size(bytes: usize) -> Result<u32, ArchiveError> {
    u32::try_from(bytes).ok().filter(|size| *size < u32::MAX).ok_or(ArchiveError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, data: &[u8]) -> ArchiveFile {
        ArchiveFile { path: path.to_owned(), data: data.to_owned(), is_executable: false }
    }

    #[test]
    fn the_order_of_files_does_not_matter() {
        let (one, other) = (file("b/ä", b"1"), file("a", &[7; 1000]));
        let first = archive(vec![one.clone(), other.clone()]).unwrap();
        assert_eq!(archive(vec![other, one]).unwrap(), first);
        let sizes = first.sizes;
        assert_eq!(sizes.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["a", "b/ä"]);
        assert!(sizes[0].1 < 100, "it is compressed");
    }

    #[test]
    fn too_many_files_are_refused() {
        let files = (0..=65_534).map(|number| file(&number.to_string(), b"")).collect();
        assert_eq!(archive(files), Err(ArchiveError::TooManyFiles(65_535)));
    }
}
