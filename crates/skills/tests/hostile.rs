//! Names, links and URIs that want to lead out of a folder.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use protomcp_skills::Omitted;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::scene::{Scene, document, uris};

#[test]
fn a_uri_is_served_only_in_the_spelling_of_the_tree() {
    let scene = Scene::new();
    scene.skill("a").write("a/dir/caf\u{e9}.md", "nfc").write("a/100%.md", "x").write("secret.md", "outside");
    let tree = scene.tree();
    let nfc = "skill://a/dir/caf%C3%A9.md";
    assert!(tree.read(nfc).is_some() && tree.read("skill://a/100%25.md").is_some());
    for uri in [
        "",
        "skill:",
        "skill://",
        "skill://a",
        "skill://a/",
        "skill://a/SKILL.md/",
        "skill://a//SKILL.md",
        "skill:///a/SKILL.md",
        "SKILL://a/SKILL.md",
        "skill://A/SKILL.md",
        "skill://a/skill.md",
        "skill://a/%53KILL.md",
        "skill://a/./SKILL.md",
        "skill://a/dir/../SKILL.md",
        "skill://a/../secret.md",
        "skill://a/%2e%2e/secret.md",
        "skill://a/%2e%2e%2fsecret.md",
        "skill://a/..%2Fsecret.md",
        "skill://a/..\\secret.md",
        "skill://a/SKILL.md%00",
        "skill://a/SKILL.md\0",
        "skill://a/dir/cafe%CC%81.md",
        "skill://a/dir/caf%c3%a9.md",
        "skill://a/dir/caf\u{e9}.md",
        "skill://a/100%.md",
        "skill://a/SKILL.md?x",
        "skill://a/SKILL.md#x",
        "skill://user@a/SKILL.md",
        "skill://a:80/SKILL.md",
        " skill://a/SKILL.md",
        "file:///etc/passwd",
        "/etc/passwd",
    ] {
        assert!(tree.read(uri).is_none(), "{uri:?}");
        assert_eq!(tree.get(uri).unwrap_err().code, -32602, "{uri:?}");
        if uri != "skill://a" {
            assert_eq!(tree.directory(uri, None).unwrap_err().code, -32602, "{uri:?}");
        }
    }
    for (uri, is_skill) in [("skill://a/SKILL.md", true), (nfc, false)] {
        assert_eq!(tree.get(uri).is_ok(), is_skill, "{uri}");
        assert_eq!(tree.directory(uri, None).unwrap_err().code, -32602, "{uri}");
    }
}

#[test]
fn two_normal_forms_of_a_name_are_two_files() {
    let scene = Scene::new();
    scene.skill("a").write("a/\u{e9}", "composed").write("a/e\u{301}", "decomposed");
    let tree = scene.tree();
    let contents = |uri: &str| tree.read(uri).unwrap().contents().clone();
    assert_eq!(contents("skill://a/%C3%A9"), "composed");
    assert_eq!(contents("skill://a/e%CC%81"), "decomposed");
}

#[test]
fn names_that_are_not_plain_text_are_left_out() {
    let scene = Scene::new();
    scene.skill("a").write("a/%2e%2e%2fx", "fine");
    for name in [&b"new\nline"[..], b"\x1b[2J", b"back\\slash", b"\xff\xfe"] {
        fs::write(scene.path("a").join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
    }
    let tree = scene.tree();
    assert_eq!(uris(&tree), ["skill://a/%252e%252e%252fx", "skill://a/SKILL.md"]);
    assert_eq!(tree.omissions().len(), 4);
    for omission in tree.omissions() {
        assert_eq!(omission.why, Omitted::Name);
        assert!(!omission.to_string().contains(char::is_control), "{omission}");
    }
}

#[test]
fn links_pipes_and_sockets_are_left_out() {
    let (scene, outside) = (Scene::new(), Scene::new());
    outside.skill("stolen").write("secret", "x");
    scene.skill("a");
    symlink(outside.path("secret"), scene.path("a/file")).unwrap();
    symlink(outside.path("stolen"), scene.path("stolen")).unwrap();
    symlink("..", scene.path("a/up")).unwrap();
    symlink(".", scene.path("a/loop")).unwrap();
    symlink("nowhere", scene.path("a/broken")).unwrap();
    mknodat(CWD, scene.path("a/pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.path("a/socket")).unwrap();
    let tree = scene.tree();
    assert_eq!(uris(&tree), ["skill://a/SKILL.md"]);
    let special = tree.omissions().iter().filter(|omission| omission.why == Omitted::Special).count();
    let links = tree.omissions().iter().filter(|omission| omission.why == Omitted::Link).count();
    assert_eq!((special, links), (2, 5));
}

#[test]
fn a_skill_file_that_is_a_link_makes_no_skill() {
    let scene = Scene::new();
    scene.write("real.md", document("a"));
    fs::create_dir(scene.path("a")).unwrap();
    symlink("../real.md", scene.path("a/SKILL.md")).unwrap();
    let tree = scene.tree();
    assert_eq!(tree.skills().count(), 0);
    assert_eq!(tree.omissions()[0].why, Omitted::Link);
}

#[test]
fn a_swap_after_the_load_changes_nothing() {
    let (scene, outside) = (Scene::new(), Scene::new());
    scene.skill("a").write("a/file", "old").write("a/dir/file", "old");
    outside.write("file", "secret");
    let tree = scene.tree();
    let before = tree.get("skill://a/SKILL.md").unwrap();
    fs::remove_file(scene.path("a/file")).unwrap();
    symlink(outside.path("file"), scene.path("a/file")).unwrap();
    fs::remove_dir_all(scene.path("a/dir")).unwrap();
    symlink(outside.root(), scene.path("a/dir")).unwrap();
    for uri in ["skill://a/file", "skill://a/dir/file"] {
        assert_eq!(tree.read(uri).unwrap().contents(), "old");
    }
    assert_eq!(tree.get("skill://a/SKILL.md").unwrap(), before);
    // Both are links now.
    assert_eq!(uris(&scene.tree()), ["skill://a/SKILL.md"]);
}
