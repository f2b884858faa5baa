//! Tests of the folder, on a real one.

use std::os::unix::fs::PermissionsExt;
use std::thread;

use tempfile::TempDir;

use super::*;
use crate::bundle;

const FILES: &[bundle::File] = &[
    bundle::File { path: "sdk/a.py", bytes: b"a = 1\n" },
    bundle::File { path: "sdk/deep/b.py", bytes: b"b = 2\n" },
    bundle::File { path: "empty", bytes: b"" },
];
const BUNDLE: Bundle = Bundle { folder: "python-1", files: FILES };

fn cache() -> (TempDir, SdkCache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = SdkCache::new(folder.path().join("protomcp/sdk"));
    (folder, cache)
}

fn assert_whole(folder: &Path) {
    for file in FILES {
        assert_eq!(fs::read(folder.join(file.path)).unwrap(), file.bytes, "{}", file.path);
    }
    let is_draft = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().to_string_lossy().starts_with(".new");
    assert!(!fs::read_dir(folder.join("sdk")).unwrap().any(is_draft), "no draft is left");
}

#[test]
fn files_are_written_once_for_their_owner_alone() {
    let (_folder, cache) = cache();
    let kept = cache.keep(&BUNDLE).unwrap();
    assert_whole(&kept);
    assert_eq!(fs::metadata(&kept).unwrap().mode() & 0o777, 0o700);
    let written = fs::metadata(kept.join("sdk/a.py")).unwrap();
    assert_eq!(written.mode() & 0o777, 0o600);
    assert_eq!(cache.keep(&BUNDLE).unwrap(), kept);
    assert_eq!(fs::metadata(kept.join("sdk/a.py")).unwrap().ino(), written.ino(), "the file was not written again");
}

#[test]
fn damaged_and_missing_files_are_replaced() {
    let (_folder, cache) = cache();
    let kept = cache.keep(&BUNDLE).unwrap();
    for damage in ["", "a = 1", "a = 2\n", "a = 1\nb = 2\n"] {
        fs::write(kept.join("sdk/a.py"), damage).unwrap();
        fs::write(kept.join("sdk/compiled"), "by an interpreter").unwrap();
        assert_whole(&cache.keep(&BUNDLE).unwrap());
        assert!(kept.join("sdk/compiled").exists(), "files of others stay");
    }
    fs::remove_dir_all(kept.join("sdk")).unwrap();
    assert_whole(&cache.keep(&BUNDLE).unwrap());
}

#[test]
fn many_programs_can_start_concurrently() {
    let (_folder, cache) = cache();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                assert_eq!(fs::read(cache.keep(&BUNDLE).unwrap().join("sdk/deep/b.py")).unwrap(), b"b = 2\n");
            });
        }
    });
    assert_whole(&cache.keep(&BUNDLE).unwrap());
}

/// A program in another container may have the same process number, and write at the same time.
#[test]
fn drafts_of_others_are_not_in_the_way() {
    let (folder, _) = cache();
    for number in 0..1000 {
        fs::create_dir(folder.path().join(format!(".new-{}-{number}", std::process::id()))).unwrap();
    }
    let path = folder.path().join("a");
    write(&path, b"a").unwrap();
    assert_eq!(fs::read(path).unwrap(), b"a");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_written_may_be_there_already() {
    // No program can make a file in its folder.
    let path = Path::new("/proc/version");
    let bytes = fs::read(path).unwrap();
    write(path, &bytes).unwrap();
    let error = write(path, b"other").unwrap_err();
    assert!(matches!(&error, LendError::Io { path: named, .. } if named == path), "{error}");
}

#[test]
fn a_folder_that_others_can_change_is_refused() {
    let (_folder, cache) = cache();
    let kept = cache.keep(&BUNDLE).unwrap();
    for mode in [0o770, 0o707] {
        fs::set_permissions(&kept, fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(cache.keep(&BUNDLE), Err(LendError::Shared(path)) if path == kept), "{mode:o}");
    }
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o755)).unwrap();
    cache.keep(&BUNDLE).unwrap();
    // In such a folder others can replace the one of the SDK.
    for path in [Some(&kept), None] {
        fs::set_permissions(&cache.folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(cache.keep(&BUNDLE), Err(LendError::Shared(path)) if path == cache.folder), "{path:?}");
        fs::set_permissions(&cache.folder, fs::Permissions::from_mode(0o700)).unwrap();
        path.map_or(Ok(()), fs::remove_dir_all).unwrap();
    }
}

#[test]
fn each_folder_of_this_program_is_examined() {
    let home = tempfile::tempdir().unwrap();
    let cache = SdkCache::of_user(|name| (name == "XDG_CACHE_HOME").then(|| home.path().into())).unwrap();
    let kept = cache.keep(&BUNDLE).unwrap();
    for folder in [home.path().join("protomcp"), cache.folder.clone(), kept.clone(), kept.join("sdk/deep")] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(cache.keep(&BUNDLE), Err(LendError::Shared(path)) if path == folder), "{}", folder.display());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    // It is the user's.
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    cache.keep(&BUNDLE).unwrap();
}

#[test]
fn files_that_python_has_compiled_are_examined() {
    let (_folder, cache) = cache();
    let kept = cache.keep(&BUNDLE).unwrap();
    let compiled = kept.join("sdk/deep/__pycache__");
    assert_eq!(fs::metadata(&compiled).unwrap().mode() & 0o777, 0o700);
    let file = compiled.join("b.cpython-311.pyc");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    cache.keep(&BUNDLE).unwrap();
    for path in [kept.join("sdk/a.py"), file, compiled] {
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(before.mode() | 0o002)).unwrap();
        assert!(matches!(cache.keep(&BUNDLE), Err(LendError::Shared(found)) if found == path), "{}", path.display());
        fs::set_permissions(&path, before).unwrap();
    }
}

#[test]
fn a_path_that_cannot_be_made_is_named() {
    let (folder, _) = cache();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = SdkCache::new(folder.path().join("file/sdk")).keep(&BUNDLE).unwrap_err().to_string();
    assert!(error.contains("file/sdk/python-1") && error.contains("XDG_CACHE_HOME"), "{error}");
}

#[test]
fn a_full_disk_leaves_no_draft() {
    // Every write to it fails as on a full disk.
    assert_eq!(create(Path::new("/dev/full"), b"a").unwrap_err().kind(), io::ErrorKind::StorageFull);
    let (folder, _) = cache();
    let path = folder.path().join("a");
    // The rename fails, since a folder is in its way.
    fs::create_dir_all(path.join("b")).unwrap();
    write(&path, b"a").unwrap_err();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_few_versions_of_each_sdk_are_kept() {
    let (_folder, cache) = cache();
    let names: Vec<String> = (1..=VERSIONS + 3).map(|number| format!("python-{number}")).collect();
    cache.keep(&Bundle { folder: "node-1", files: FILES }).unwrap();
    for name in &names {
        cache.keep(&Bundle { folder: name.clone().leak(), files: FILES }).unwrap();
    }
    let kept = |name: &str| cache.folder.join(name).exists();
    assert_eq!(names.iter().filter(|name| kept(name)).count(), VERSIONS);
    assert!(kept(names.last().unwrap()) && kept("node-1"));
}

#[test]
fn the_folder_of_a_user_follows_the_environment() {
    let of = |cache: Option<&str>, home: Option<&str>| {
        let variable = |name: &str| {
            let value = if name == "HOME" { home } else { cache.filter(|_| name == "XDG_CACHE_HOME") };
            value.map(OsString::from)
        };
        SdkCache::of_user(variable).map(|cache| cache.folder.display().to_string()).ok()
    };
    assert_eq!(of(Some("/c"), Some("/h")).as_deref(), Some("/c/protomcp/sdk"));
    assert_eq!(of(None, Some("/h")).as_deref(), Some("/h/.cache/protomcp/sdk"));
    assert_eq!(of(Some("relative"), Some("/h")).as_deref(), Some("/h/.cache/protomcp/sdk"));
    assert_eq!(of(None, None), None);
}
