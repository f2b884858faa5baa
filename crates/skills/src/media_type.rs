//! The media types of files, by their names.

use std::str;

/// Types by the last part of a name. Other text is `text/plain`.
const KNOWN: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("py", "text/x-python"),
    ("sh", "application/x-sh"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// The type of directories (SEP-2640, "Directory Resources").
pub(crate) const DIRECTORY: &str = "inode/directory";

/// The media type of a file with this name and these contents.
pub(crate) fn of(name: &str, contents: &[u8]) -> &'static str {
    let known = name.rsplit_once('.').and_then(|(_, ending)| {
        KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, media_type)| *media_type)
    });
    match known {
        Some(known) => known,
        None if str::from_utf8(contents).is_ok() => "text/plain",
        None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_follows_from_the_name_or_the_contents() {
        for (name, contents, expected) in [
            ("SKILL.md", &b"x"[..], "text/markdown"),
            ("A.PNG", b"\x89", "image/png"),
            ("Makefile", b"all:", "text/plain"),
            ("data.bin", b"\xff", "application/octet-stream"),
            ("md", b"x", "text/plain"),
        ] {
            assert_eq!(of(name, contents), expected, "{name}");
        }
    }
}
