//! Links in the place of files: a user's are followed, and a repository's only inside it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use protomcp_install::{Action, Found, Scope};

use crate::user::{User, read, row, server};

#[test]
fn links_and_permissions_stay() {
    let user = User::new();
    let real = user.home.path().join("dotfiles.json");
    fs::write(&real, "{}").expect("it can be written");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("it is ours");
    let path = user.path("cursor");
    fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
    symlink("../dotfiles.json", &path).expect("a link can be made");
    user.install("cursor", "tools").expect("it fits");
    assert!(fs::symlink_metadata(&path).expect("it is there").is_symlink());
    assert!(read(&real).contains("/bin/pmcp"));
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o640);
    assert_eq!(mode(&user.home.path().join("dotfiles.json.pmcp-backup")), 0o640);
    user.uninstall("cursor", "tools").expect("it is there");
    assert_eq!((read(&real).as_str(), mode(&real)), ("{}", 0o640));
}

#[test]
fn the_file_that_a_project_has_is_changed() {
    for (id, usual, other) in [
        ("opencode", "opencode.json", "opencode.jsonc"),
        ("opencode", "opencode.json", ".opencode/opencode.jsonc"),
        ("kilo", "kilo.jsonc", ".kilo/kilo.jsonc"),
    ] {
        let user = User::new();
        let scope = Scope::Project(user.home.path().to_str().expect("it is UTF-8").to_owned());
        let path = |file: &str| user.home.path().join(file);
        assert_eq!(user.installer.path(row(id), &scope).expect(id), path(usual));
        fs::create_dir_all(path(other).parent().expect("a file has a directory")).expect("it can be made");
        fs::write(path(other), "{} // mine\n").expect("it can be written");
        let action = Action::Install { name: "tools".into(), server: server(), replaces: false };
        user.installer.apply(row(id), &scope, &action).expect(other);
        assert!(read(&path(other)).contains("/bin/pmcp") && !path(usual).exists(), "{other}");
        user.installer.apply(row(id), &scope, &Action::Uninstall { name: "tools".into() }).expect(other);
        assert_eq!(read(&path(other)), "{} // mine\n");
    }
}

/// A repository is the work of others: their links lead to no file of the user.
#[test]
fn links_of_a_project_stay_in_it() {
    for (link, target, is_followed) in [
        (".cursor/mcp.json", "../../outside.json", false),
        (".cursor/mcp.json", "../../missing.json", false),
        (".cursor/mcp.json", "../missing/../../outside.json", false),
        (".cursor", "../outside", false),
        (".cursor", "../missing", false),
        (".cursor/mcp.json", "../inside.json", true),
        (".cursor/mcp.json", "../missing.json", true),
        (".cursor", "inside", true),
    ] {
        let user = User::new();
        let project = user.home.path().join("project");
        for folder in ["project/inside", "outside"] {
            fs::create_dir_all(user.home.path().join(folder)).expect("it can be made");
        }
        for file in ["outside.json", "outside/mcp.json", "project/inside.json"] {
            fs::write(user.home.path().join(file), "{}").expect("it can be written");
        }
        let link = project.join(link);
        fs::create_dir_all(link.parent().expect("a link has a directory")).expect("it can be made");
        symlink(target, &link).expect("a link can be made");
        let before = user.files();
        let scope = Scope::Project(project.to_str().expect("it is UTF-8").to_owned());
        let action = Action::Install { name: "tools".into(), server: server(), replaces: false };
        let found = user.installer.status(row("cursor"), &scope).expect("the host has a file").found;
        assert_eq!(
            matches!(found, Found::Broken(_)),
            !is_followed,
            "nothing is read there, either: {target} {found:?}"
        );
        match user.installer.apply(row("cursor"), &scope, &action) {
            Ok(_) => assert!(is_followed && read(&project.join(".cursor/mcp.json")).contains("/bin/pmcp"), "{target}"),
            Err(error) => {
                let error = error.to_string();
                assert!(!is_followed && error.contains("outside of the project"), "{target}: {error}");
                assert!(error.starts_with(&format!("{} leads to ", link.display())), "{target}: {error}");
                assert_eq!(user.files(), before, "{target}");
                assert_eq!(read(&user.home.path().join("outside.json")), "{}");
                assert_eq!(read(&user.home.path().join("outside/mcp.json")), "{}");
                assert!(user.installer.prepare(row("cursor"), &scope, &action).is_err());
            }
        }
        assert!(link.is_symlink(), "{target}");
    }
}

/// The name of the draft can be guessed.
#[test]
fn a_link_in_the_place_of_a_draft_is_not_followed() {
    let user = User::new();
    let path = user.write("cursor", "{}");
    let outside = user.home.path().join("outside");
    fs::write(&outside, "mine").expect("it can be written");
    let draft = path.with_file_name(format!("mcp.json.pmcp-{}", std::process::id()));
    symlink(&outside, &draft).expect("a link can be made");
    user.install("cursor", "tools").expect("it fits");
    assert!(read(&path).contains("/bin/pmcp"));
    assert_eq!(read(&outside), "mine");
}

/// Reading a pipe would wait for a writer, and a device has no end.
#[test]
fn only_regular_files_are_read() {
    for place in ["pipe", "link to a pipe", "/dev/zero", "/dev/stdin", "folder"] {
        let user = User::new();
        let path = user.path("cursor");
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
        let pipe = |path: &Path| {
            let made = Command::new("mkfifo").arg(path).status().expect("mkfifo starts");
            assert!(made.success());
        };
        match place {
            "pipe" => pipe(&path),
            "link to a pipe" => {
                pipe(&path.with_file_name("pipe"));
                symlink("pipe", &path).expect("a link can be made");
            }
            // Of this test, which may have a file there, or nothing.
            "/dev/stdin" if fs::metadata(place).is_ok_and(|input| !input.is_file()) => {
                symlink(place, &path).expect("a link can be made");
            }
            "/dev/stdin" => continue,
            "folder" => fs::create_dir(&path).expect("it can be made"),
            place => symlink(place, &path).expect("a link can be made"),
        }
        let error = user.install("cursor", "tools").expect_err(place).to_string();
        assert!(error.contains("is not a regular file: put a file in its place"), "{place}: {error}");
        let found = user.installer.status(row("cursor"), &Scope::User).expect("the host has a file").found;
        assert!(matches!(&found, Found::Broken(why) if why.contains("not a regular file")), "{place}: {found:?}");
    }
}

#[test]
fn drafts_of_processes_that_are_over_go() {
    let user = User::new();
    let path = user.write("cursor", "{}");
    let mut process = Command::new("true").spawn().expect("it starts");
    let over = process.id();
    process.wait().expect("it ends");
    let names = [
        (format!("mcp.json.pmcp-{over}"), false),
        (format!("other.json.pmcp-{over}"), true),
        (format!("mcp.json.pmcp-{over}x"), true),
        ("mcp.json.pmcp-1".to_owned(), true),
    ];
    for (name, _) in &names {
        fs::write(path.with_file_name(name), "half").expect("it can be written");
    }
    user.install("cursor", "tools").expect("it fits");
    for (name, stays) in &names {
        assert_eq!(path.with_file_name(name).exists(), *stays, "{name}");
    }
    // A link with such a name is not a draft.
    let link = path.with_file_name(&names[0].0);
    symlink("mcp.json", &link).expect("a link can be made");
    user.uninstall("cursor", "tools").expect("it is there");
    assert!(link.is_symlink());
}
