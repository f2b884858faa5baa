//! The bounds that SECURITY.md states come from the code.
//!
//! Both tables between `<!-- bounds` markers are made here, out of the constants and defaults that the sources name, so
//! that a changed constant changes the document. `UPDATE_BOUNDS=1 scripts/run-tests 'test(/^bounds::/)'`
//! writes them.

mod authorization;
mod memory;
mod schemas;
mod servers;
mod skills;
mod source;
mod table;

use std::fs;

use protomcp_conformance::root;
use protomcp_testing::assert_committed;

use self::authorization::AUTHORIZATION;
use self::memory::MEMORY;
use self::schemas::SCHEMAS;
use self::servers::SERVERS;
use self::skills::SKILLS;
use self::source::Sources;
use self::table::BOUNDS;

const BEGIN: &str = "<!-- bounds: made by conformance/tests/bounds.rs -->\n";
const END: &str = "<!-- end of bounds -->\n";

#[test]
fn the_tables_of_security_md_match_the_constants() {
    let path = root().join("SECURITY.md");
    let document = fs::read_to_string(&path).expect("SECURITY.md is there");
    let (before, rest) = document.split_once(BEGIN).expect("the tables have a beginning");
    let (_, after) = rest.split_once(END).expect("the tables have an end");
    let fresh = format!("{before}{BEGIN}{}{END}{after}", tables());
    assert_committed(path, fresh, "UPDATE_BOUNDS");
}

fn tables() -> String {
    let mut sources = Sources::new(root().to_path_buf());
    let mut text = String::from("\n| what | default | option |\n|---|---|---|\n");
    for (what, bound, option) in BOUNDS.iter().chain(SERVERS).chain(AUTHORIZATION).chain(SCHEMAS).chain(SKILLS) {
        text += &format!("| {} | {} | {option} |\n", sources.fill(what).0, sources.fill(bound).0);
    }
    text += "\nMemory of the process adds up to this, with the defaults:\n\n| what | at most |\n|---|---|\n";
    let mut sum = 0;
    for (what, bound) in MEMORY {
        let (bound, bytes) = sources.fill(bound);
        sum += bytes;
        text += &format!("| {what} | {bound} |\n");
    }
    text += &format!("| **together** | **{}** |\n\n", source::bytes(sum));
    text
}
