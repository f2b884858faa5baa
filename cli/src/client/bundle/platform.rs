//! The operating system of a program, by the first bytes of its file.

/// Rust's name for the system (`std::env::consts::OS`), or `None` for a file in another format, such as a script.
///
/// ELF is for Linux here, since hosts run bundles on Linux, macOS and Windows alone (MCPB 0.3, `compatibility`).
pub(super) fn system_of(program: &[u8]) -> Option<&'static str> {
    // Mach-O has a magic number for 32 and one for 64 bits, in each byte order, and one for several programs in one file.
    const MACH_O: [[u8; 4]; 5] = [
        [0xfe, 0xed, 0xfa, 0xce],
        [0xce, 0xfa, 0xed, 0xfe],
        [0xfe, 0xed, 0xfa, 0xcf],
        [0xcf, 0xfa, 0xed, 0xfe],
        [0xca, 0xfe, 0xba, 0xbe],
    ];
    if program.starts_with(b"\x7fELF") {
        Some("linux")
    } else if MACH_O.iter().any(|magic| program.starts_with(magic)) && !is_java(program) {
        Some("macos")
    } else if program.starts_with(b"MZ") {
        Some("windows")
    } else {
        None
    }
}

/// True for a class of Java, which has the magic number of several programs in one file. After it a class has its version,
/// which is 45 or more, and the other one the number of its programs.
fn is_java(program: &[u8]) -> bool {
    program.starts_with(&[0xca, 0xfe, 0xba, 0xbe]) && program.get(7).is_some_and(|byte| *byte >= 45)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_their_formats() {
        for (start, system) in [
            (&b"\x7fELF\x02\x01"[..], Some("linux")),
            (b"\xcf\xfa\xed\xfe\x0c\0\0\x01", Some("macos")),
            (b"\xca\xfe\xba\xbe\0\0\0\x02", Some("macos")),
            (b"\xca\xfe\xba\xbe\0\0\0\x41", None),
            (b"MZ\x90\0", Some("windows")),
            (b"#!/bin/sh\n", None),
            (b"", None),
        ] {
            assert_eq!(system_of(start), system, "{start:?}");
        }
    }
}
