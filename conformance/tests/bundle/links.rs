//! Links in the folder of a tool file.

use std::fs;
use std::os::unix::fs::symlink;

use protomcp_conformance::Sandbox;

use crate::bundle::{project, run, unpack};

/// The error of a bundle, if it is not made, and its files otherwise.
fn linked(sandbox: &Sandbox) -> Result<String, String> {
    let output = run(sandbox, &["bundle", "tools/greet.py", "--binary", "stub", "--include", "tools/data"]);
    match output.status.code() {
        Some(0) => Ok(unpack(sandbox, "greet.mcpb", "unpacked")),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn links_out_of_the_folder_make_no_bundle() {
    let sandbox = project();
    fs::create_dir(sandbox.path("outside")).expect("the sandbox can be written");
    fs::write(sandbox.path("outside/mine.py"), "# private").expect("the sandbox can be written");
    for (link, target) in [
        ("tools/data/mine", "../../outside/mine.py"),
        ("tools/data/all", "../../outside"),
        ("tools/linked.py", "../outside/mine.py"),
        ("tools/helper/pack", "../../outside"),
        ("tools/package.json", "../outside/mine.py"),
    ] {
        symlink(target, sandbox.path(link)).expect("a link can be made");
        let error = linked(&sandbox).expect_err(link);
        let real = sandbox.path(link).canonicalize().expect("it is there");
        assert!(error.contains(&format!("{link} leads to {}, outside of ", real.display())), "{error}");
        fs::remove_file(sandbox.path(link)).expect("it is there");
    }
    symlink("..", sandbox.path("tools/data/back")).expect("a link can be made");
    let error = linked(&sandbox).expect_err("the walk has no end");
    assert!(error.contains("tools/data/back is a link to ") && error.contains("remove the link"), "{error}");
    assert!(!sandbox.path("greet.mcpb").exists());
}

#[test]
fn links_within_the_folder_are_files_of_the_bundle() {
    let sandbox = project();
    for (link, target) in [("tools/data/alias", "word"), ("tools/pack", "helper"), ("tools/data/notes", "../notes.txt")]
    {
        symlink(target, sandbox.path(link)).expect("a link can be made");
    }
    let files = linked(&sandbox).expect("it is made");
    for name in ["data/alias", "pack/words.py", "data/notes"] {
        assert!(files.contains(&format!("server/tools/{name}\n")), "{files}");
    }
    let notes = sandbox.path("unpacked/server/tools/data/notes");
    assert_eq!(fs::read_to_string(notes).expect("it is a file"), "mine");
    // The name of the target counts as well.
    symlink("../.env", sandbox.path("tools/data/settings")).expect("a link can be made");
    let error = linked(&sandbox).expect_err("it is a secret");
    assert!(error.contains("tools/data/settings looks like a secret by its name"), "{error}");
}
